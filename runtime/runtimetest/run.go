package runtimetest

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
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
// testing/synctest bubble: for runtimes that live in virtual time. Go shows a case that
// was skipped in a bubble as passed; its log says that it was skipped.
func RunInBubble(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, factory(t)) })
		})
	}
}

// Cases returns all cases, for who runs them in a way of his own.
func Cases() []Case {
	return slices.Concat(listCases, sandboxCases, containerCases, stopCases, imageCases, contextCases, optionalCases, reopenCases,
		execCases, streamCases, logCases, resourceCases, answerCases, concurrencyCases)
}

// Run checks the promise on one runtime. It returns when everything that it
// started has ended, its pods included; a call that is blocked is left behind.
// What is wrong with the harness fails the case.
//
// It calls Errorf, FailNow, Helper and Skipf of t and nothing else: a caller that is no test embeds
// a nil testing.TB and implements those.
func (c Case) Run(t testing.TB, h Harness) {
	t.Helper()
	h.complete()
	if err := h.check(); err != nil {
		t.Errorf("%v", err)
		t.FailNow()
		return
	}
	if reason := h.skips(c.Name); reason != "" {
		t.Skipf("%s: %s", c.Name, reason)
		return
	}
	for head := h.HeadStart; c.try(t, h, head); head *= 2 {
	}
}

// try runs the case once. It is to be run again if a container had no time to
// set its traps.
func (c Case) try(t testing.TB, h Harness, head time.Duration) (again bool) {
	t.Helper()
	b := newBench(t, c, h, head)
	defer b.clear()
	defer func() {
		switch v := recover().(type) {
		case nil:
		case tooEarly:
			again = true
		default:
			panic(v)
		}
	}()
	b.Do(func() {
		c.run(b)
		b.nothingBlocked()
	})
	return false
}
