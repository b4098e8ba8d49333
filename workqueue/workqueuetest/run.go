package workqueuetest

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/conformance"
	"github.com/podkeel/podkeel/workqueue"
)

// Case is one promise of the contract and the code that checks it.
type Case struct {
	// Name of the case, for example "due/not-after-now".
	Name string
	// Promise is the checked promise, as a sentence.
	Promise string

	run func(b *testCase)
}

// Run checks every promise, each in a subtest. factory returns an empty queue and may be
// called several times in a case.
func Run(t *testing.T, factory func() workqueue.WorkQueue) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, factory) })
	}
}

// Cases returns all cases, for a caller that runs them in another way.
func Cases() []Case { return slices.Clone(cases) }

// Run checks the promise.
//
// It only calls Errorf, FailNow, Helper and Skipf of t. A caller without a test embeds a nil
// testing.TB and implements those.
func (c Case) Run(t testing.TB, factory func() workqueue.WorkQueue) {
	t.Helper()
	b := &testCase{Bench: conformance.Bench{T: t, Name: c.Name, Promise: c.Promise}, factory: factory, queue: factory()}
	b.Do(func() { c.run(b) })
}

// testCase is the state of one running case.
type testCase struct {
	conformance.Bench
	factory func() workqueue.WorkQueue
	queue   workqueue.WorkQueue
}

// epoch is the time at which the cases begin.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// timeAfterEpoch returns the time that is d after the fixed start time of all test cases.
func timeAfterEpoch(d time.Duration) time.Time { return epoch.Add(d) }

// enqueue calls EnqueueAt to make the pod due at d after the test's start time.
func (b *testCase) enqueue(uid types.UID, d time.Duration) { b.queue.EnqueueAt(uid, timeAfterEpoch(d)) }

// callGetWorkAndCheck calls GetWork, which removes the due pods, and fails the test unless it returns exactly
// the pods in want, in any order.
func (b *testCase) callGetWorkAndCheck(now time.Duration, want ...types.UID) {
	b.Helper()
	got := slices.Sorted(slices.Values(b.queue.GetWork(timeAfterEpoch(now), nil)))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		b.Failf("GetWork at %s is %q, want %q", now, got, want)
	}
}

// checkNext fails the test unless the queue's Next returns the time want after the test's start time.
func (b *testCase) checkNext(want time.Duration) {
	b.Helper()
	switch got, ok := b.queue.Next(); {
	case !ok:
		b.Failf("Next is none, want %s", want)
	case !got.Equal(timeAfterEpoch(want)):
		b.Failf("Next is %s, want %s", got.Sub(epoch), want)
	}
}

// checkEmpty fails the test if the queue's Next returns a time, or if Due returns one for a given pod.
func (b *testCase) checkEmpty(uids ...types.UID) {
	b.Helper()
	if got, ok := b.queue.Next(); ok {
		b.Failf("Next is %s, want none", got.Sub(epoch))
	}
	for _, uid := range uids {
		if got, ok := b.queue.Due(uid); ok {
			b.Failf("Due(%s) is %s, want none", uid, got.Sub(epoch))
		}
	}
}

// checkDue fails the test unless the queue's Due returns, for the pod, the time want after the test's start
// time.
func (b *testCase) checkDue(uid types.UID, want time.Duration) {
	b.Helper()
	switch got, ok := b.queue.Due(uid); {
	case !ok:
		b.Failf("Due(%s) is none, want %s", uid, want)
	case !got.Equal(timeAfterEpoch(want)):
		b.Failf("Due(%s) is %s, want %s", uid, got.Sub(epoch), want)
	}
}
