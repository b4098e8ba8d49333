package runtimetest

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Case checks one guarantee of package runtime.
type Case struct {
	// Name is the name of the case, such as "container/exists".
	Name string
	// Promise is the guarantee that the case checks, in a sentence.
	Promise string

	run func(*bench)
}

// Run runs every case in a subtest, each with a harness of its own.
func Run(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, factory(t)) })
	}
}

// RunInBubble is Run with each case, and the creation of its harness, in a testing/synctest bubble.
// It is for runtimes in virtual time. Go reports a case that is skipped in a bubble as passed; its
// log says that it was skipped.
func RunInBubble(t *testing.T, factory func(t *testing.T) Harness) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, factory(t)) })
		})
	}
}

// Cases returns all cases, for callers that do not use Run.
func Cases() []Case {
	return slices.Concat(listCases, sandboxCases, containerCases, stopCases, imageCases, contextCases, optionalCases, reopenCases,
		execCases, streamCases, logCases, resourceCases, handlerCases, concurrencyCases)
}

// Run checks the guarantee on one runtime. It returns after everything that it started has stopped
// and its pods are removed. It does not wait for a blocked call. An invalid harness fails the case.
//
// It calls only Errorf, FailNow, Helper and Skipf of t. A caller outside a test embeds a nil
// testing.TB and implements these four.
func (c Case) Run(t testing.TB, h Harness) {
	t.Helper()
	h.setDefaults()
	if err := h.validate(); err != nil {
		t.Errorf("%v", err)
		t.FailNow()
		return
	}
	if reason := h.skipReason(c.Name); reason != "" {
		t.Skipf("%s: %s", c.Name, reason)
		return
	}
	for head := h.HeadStart; c.runOnceAndCleanUp(t, h, head); head *= 2 {
	}
}

// runOnceAndCleanUp runs the case once and removes its pods. It returns true if the case must run again because
// a container had not set its signal traps in time.
func (c Case) runOnceAndCleanUp(t testing.TB, h Harness, trapDelay time.Duration) (retry bool) {
	t.Helper()
	b := newBench(t, c, h, trapDelay)
	defer b.removePodsAndCancel()
	defer func() {
		switch v := recover().(type) {
		case nil:
		case retryWithLongerDelay:
			retry = true
		default:
			panic(v)
		}
	}()
	b.Do(func() {
		c.run(b)
		b.requireNoBlockedCall()
	})
	return false
}
