package conformance

import (
	"context"
	"fmt"
	"strings"
)

// T is the part of testing.TB that the kits use. The methods are called on the goroutine that runs the case.
type T interface {
	// Context returns the context for the calls of a case. Some kits do not call it.
	Context() context.Context
	// Errorf records a failure.
	Errorf(format string, args ...any)
	// FailNow is called after Errorf. It may return; the case stops in any case.
	FailNow()
	// Helper marks its caller as a helper of tests.
	Helper()
	// Skipf records why a case is skipped. It may return; the case stops in any case.
	Skipf(format string, args ...any)
}

// Bench is one run of one case. It is used by one goroutine.
type Bench struct {
	T
	// Name is the name of the case.
	Name string
	// Promise is what the case checks, as a sentence. It ends each failure message.
	Promise string
	// Note returns what a failure message shows in addition; nil or an empty result adds nothing.
	Note func() string
}

// caseStopped is the panic value that stops a case if FailNow or Skipf returns.
type caseStopped struct{}

// Do runs a case. It returns when the case has stopped, also after Failf or Skipf.
func (*Bench) Do(run func()) {
	defer func() {
		if v := recover(); v != nil && v != any(caseStopped{}) {
			panic(v)
		}
	}()
	run()
}

// Failf fails the case and stops it.
func (b *Bench) Failf(format string, args ...any) {
	b.Helper()
	message := fmt.Sprintf(format, args...)
	if b.Note != nil {
		if note := b.Note(); note != "" && !strings.Contains(message, note) {
			message += "\n" + note
		}
	}
	b.Errorf("%s\npromise: %s", message, b.Promise)
	b.FailNow()
	panic(caseStopped{})
}

// Skipf skips the rest of the case.
func (b *Bench) Skipf(format string, args ...any) {
	b.Helper()
	b.T.Skipf(format, args...)
	panic(caseStopped{})
}

// Must fails the case if err is not nil. what names the step that failed.
func (b *Bench) Must(err error, what string) {
	b.Helper()
	if err != nil {
		b.Failf("%s: %v", what, err)
	}
}

// Check fails the case if ok is false.
func (b *Bench) Check(ok bool, format string, args ...any) {
	b.Helper()
	if !ok {
		b.Failf(format, args...)
	}
}
