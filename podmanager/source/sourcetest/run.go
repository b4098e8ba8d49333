package sourcetest

import (
	"slices"
	"testing"
	"testing/synctest"
)

// T is what a case needs of a *testing.T.
type T interface {
	// Helper is called by what is not to be the place of a failure.
	Helper()
	// Errorf says why the case has failed.
	Errorf(format string, args ...any)
	// FailNow follows Errorf. It may return: the case ends then all the same.
	FailNow()
	// Skipf says why the case does not apply. It may return, as FailNow may.
	Skipf(format string, args ...any)
}

// Case is one promise and the code that checks it.
type Case struct {
	// Name is the case's, as "change/added".
	Name string
	// Promise is what is checked, in a sentence.
	Promise string

	run func(*bench)
}

// Cases returns all cases, for callers that run them in a way of their own.
func Cases() []Case { return slices.Concat(runCases, changeCases, brokenCases) }

// Run checks every promise, each in a subtest with a harness of its own.
func Run(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, factory(t)) })
	}
}

// RunInBubble is Run with each case, and the making of its harness, in a
// testing/synctest bubble. Go shows a case that was skipped in a bubble as passed; its
// log says that it was skipped.
func RunInBubble(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, factory(t)) })
		})
	}
}

// Run checks the promise on one source. It ends the source's Run before it returns. An
// incomplete harness fails the case.
func (c Case) Run(t T, h Harness) {
	t.Helper()
	if err := h.complete(); err != nil {
		t.Errorf("%v", err)
		t.FailNow()
		return
	}
	b := &bench{T: t, h: h, c: c, sink: newSink()}
	defer func() {
		if v := recover(); v != nil && v != any(over{}) {
			panic(v)
		}
	}()
	defer b.stop()
	c.run(b)
	b.unmodified()
}
