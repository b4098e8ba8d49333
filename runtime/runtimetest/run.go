package runtimetest

import (
	"slices"
	"testing"
	"testing/synctest"
)

// Case is one promise and the code that checks it.
type Case struct {
	// Name is the case's, as "container/exists".
	Name string
	// Promise is what is checked, in a sentence.
	Promise string

	run func(*bench)
}

// Run checks every promise, each in a subtest with a harness of its own.
func Run(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, factory(t)) })
	}
}

// RunInBubble is Run with each case, and the making of its harness, in a
// testing/synctest bubble: for runtimes that live in virtual time.
func RunInBubble(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, factory(t)) })
		})
	}
}

// Cases returns all cases, for who runs them in a way of his own.
func Cases() []Case {
	return slices.Concat(listCases, sandboxCases, containerCases, stopCases, imageCases, contextCases, optionalCases,
		execCases, streamCases, logCases, resourceCases, answerCases, concurrencyCases)
}

// Run checks the promise on one runtime. It returns when everything that it
// started has ended, its pods included.
func (c Case) Run(t T, h Harness) {
	t.Helper()
	if reason, skip := h.Skip[c.Name]; skip {
		t.Skipf("%s: %s", c.Name, reason)
		return
	}
	b := newBench(t, c.Name, h)
	defer b.clear()
	c.run(b)
}
