package conformance

import (
	"context"
	"fmt"
	"strings"
)

// T is the part of testing.TB that the kits use. All methods are called on the goroutine that
// runs the case.
type T interface {
	// Context is for the calls of a case. Some kits do not call it.
	Context() context.Context
	// Errorf records a failure.
	Errorf(format string, args ...any)
	// FailNow follows Errorf. It may return: the case ends all the same.
	FailNow()
	// Helper marks its caller as a helper of tests.
	Helper()
	// Skipf records why a case is skipped. It may return, as FailNow may.
	Skipf(format string, args ...any)
}

// Bench is one run of one case. It is used by one goroutine.
type Bench struct {
	T
	// Name is the name of the case.
	Name string
	// Promise is what the case checks, in a sentence. Each failure ends with it.
	Promise string
	// Note returns what a failure says beside its message; empty is nothing. Nil: no failure has one.
	Note func() string
}

// ended is the panic that ends a case if FailNow or Skipf returns.
type ended struct{}

// Do runs a case. It returns when the case has ended, also after Failf or Skipf.
func (*Bench) Do(run func()) {
	defer func() {
		if v := recover(); v != nil && v != any(ended{}) {
			panic(v)
		}
	}()
	run()
}

// Failf fails the case and ends it.
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
	panic(ended{})
}

// Skipf skips the rest of the case.
func (b *Bench) Skipf(format string, args ...any) {
	b.Helper()
	b.T.Skipf(format, args...)
	panic(ended{})
}

// Must fails the case if a step of it returned an error.
func (b *Bench) Must(err error, what string) {
	b.Helper()
	if err != nil {
		b.Failf("%s: %v", what, err)
	}
}

// Check fails the case if a condition does not hold.
func (b *Bench) Check(ok bool, format string, args ...any) {
	b.Helper()
	if !ok {
		b.Failf(format, args...)
	}
}
