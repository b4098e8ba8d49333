package workqueuetest

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/workqueue"
)

// T is what a case needs of *testing.T. All methods are called on the goroutine that runs
// the case.
type T interface {
	// Helper marks the caller as a helper of tests.
	Helper()
	// Fatalf says what is wrong and ends the goroutine of the test.
	Fatalf(format string, args ...any)
}

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
func (c Case) Run(t T, factory func() workqueue.WorkQueue) {
	t.Helper()
	c.run(&bench{t: t, factory: factory, queue: factory()})
}

// bench is where a case is run.
type bench struct {
	t       T
	factory func() workqueue.WorkQueue
	queue   workqueue.WorkQueue
}

// epoch is when the cases begin.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return epoch.Add(d) }

func (b *bench) enqueue(uid types.UID, d time.Duration) { b.queue.EnqueueAt(uid, at(d)) }

// work checks what GetWork returns, in any order.
func (b *bench) work(now time.Duration, want ...types.UID) {
	b.t.Helper()
	got := slices.Sorted(slices.Values(b.queue.GetWork(at(now), nil)))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		b.t.Fatalf("GetWork at %s is %q, want %q", now, got, want)
	}
}

// next checks what Next returns.
func (b *bench) next(want time.Duration) {
	b.t.Helper()
	switch got, ok := b.queue.Next(); {
	case !ok:
		b.t.Fatalf("Next is none, want %s", want)
	case !got.Equal(at(want)):
		b.t.Fatalf("Next is %s, want %s", got.Sub(epoch), want)
	}
}

// empty checks that no pod has a time, neither of those named nor any other.
func (b *bench) empty(uids ...types.UID) {
	b.t.Helper()
	if got, ok := b.queue.Next(); ok {
		b.t.Fatalf("Next is %s, want none", got.Sub(epoch))
	}
	for _, uid := range uids {
		if got, ok := b.queue.Due(uid); ok {
			b.t.Fatalf("Due(%s) is %s, want none", uid, got.Sub(epoch))
		}
	}
}

// due checks what Due returns.
func (b *bench) due(uid types.UID, want time.Duration) {
	b.t.Helper()
	switch got, ok := b.queue.Due(uid); {
	case !ok:
		b.t.Fatalf("Due(%s) is none, want %s", uid, want)
	case !got.Equal(at(want)):
		b.t.Fatalf("Due(%s) is %s, want %s", uid, got.Sub(epoch), want)
	}
}
