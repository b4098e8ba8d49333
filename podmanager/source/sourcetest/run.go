package sourcetest

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/podkeel/podkeel/internal/conformance"
)

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
//
// It calls Errorf, FailNow, Helper and Skipf of t and nothing else: a caller that is no test embeds
// a nil testing.TB and implements those.
func (c Case) Run(t testing.TB, h Harness) {
	t.Helper()
	if err := h.complete(); err != nil {
		t.Errorf("%v", err)
		t.FailNow()
		return
	}
	b := &bench{Bench: conformance.Bench{T: t, Name: c.Name, Promise: c.Promise}, h: h, sink: newSink()}
	b.Do(func() {
		defer b.stop()
		c.run(b)
		b.unmodified()
	})
}
