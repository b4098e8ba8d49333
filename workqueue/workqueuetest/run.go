package workqueuetest

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/conformance"
	"github.com/podkeel/podkeel/workqueue"
)

// Case is one promise and the code that checks it.
type Case struct {
	// Name is the case's, as "due/not-after-now".
	Name string
	// Promise is what is checked, in a sentence.
	Promise string

	run func(b *bench)
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
// It calls Errorf, FailNow, Helper and Skipf of t and nothing else: a caller that is no test embeds
// a nil testing.TB and implements those.
func (c Case) Run(t testing.TB, factory func() workqueue.WorkQueue) {
	t.Helper()
	b := &bench{Bench: conformance.Bench{T: t, Name: c.Name, Promise: c.Promise}, factory: factory, queue: factory()}
	b.Do(func() { c.run(b) })
}

// bench is where a case is run.
type bench struct {
	conformance.Bench
	factory func() workqueue.WorkQueue
	queue   workqueue.WorkQueue
}

// epoch is when the cases begin.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return epoch.Add(d) }

func (b *bench) enqueue(uid types.UID, d time.Duration) { b.queue.EnqueueAt(uid, at(d)) }

// work checks what GetWork returns, in any order.
func (b *bench) work(now time.Duration, want ...types.UID) {
	b.Helper()
	got := slices.Sorted(slices.Values(b.queue.GetWork(at(now), nil)))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		b.Failf("GetWork at %s is %q, want %q", now, got, want)
	}
}

// next checks what Next returns.
func (b *bench) next(want time.Duration) {
	b.Helper()
	switch got, ok := b.queue.Next(); {
	case !ok:
		b.Failf("Next is none, want %s", want)
	case !got.Equal(at(want)):
		b.Failf("Next is %s, want %s", got.Sub(epoch), want)
	}
}

// empty checks that no pod has a time, neither of those named nor any other.
func (b *bench) empty(uids ...types.UID) {
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

// due checks what Due returns.
func (b *bench) due(uid types.UID, want time.Duration) {
	b.Helper()
	switch got, ok := b.queue.Due(uid); {
	case !ok:
		b.Failf("Due(%s) is none, want %s", uid, want)
	case !got.Equal(at(want)):
		b.Failf("Due(%s) is %s, want %s", uid, got.Sub(epoch), want)
	}
}
