package sourcetest

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/podkeel/podkeel/internal/conformance"
)

// Case is one promise of the contract and the code that checks it.
type Case struct {
	// Name of the case, for example "change/added".
	Name string
	// Promise is the checked promise, as a sentence.
	Promise string

	run func(*testCase)
}

// Cases returns all cases, for a caller that runs them in another way.
func Cases() []Case { return slices.Concat(runCases, changeCases, brokenCases) }

// Run checks every promise, each in a subtest with a harness of its own.
func Run(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, factory(t)) })
	}
}

// RunInBubble is Run with each case, including the call of factory, in a testing/synctest bubble.
// Go shows a case that was skipped in a bubble as passed; its log says that it was skipped.
func RunInBubble(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, factory(t)) })
		})
	}
}

// Run checks the promise on one source. It ends the source's Run before it returns. An incomplete
// harness fails the case.
//
// It only calls Errorf, FailNow, Helper and Skipf of t. A caller without a test embeds a nil
// testing.TB and implements those.
func (c Case) Run(t testing.TB, h Harness) {
	t.Helper()
	if err := h.setDefaultsAndValidate(); err != nil {
		t.Errorf("%v", err)
		t.FailNow()
		return
	}
	b := &testCase{Bench: conformance.Bench{T: t, Name: c.Name, Promise: c.Promise}, h: h, sink: newRecordingSink()}
	b.Do(func() {
		defer b.stopRun()
		c.run(b)
		b.checkUnmodified()
	})
}
