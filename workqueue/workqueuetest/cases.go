package workqueuetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/workqueue"
)

const second = time.Second

var cases = []Case{
	{"empty", "In an empty queue GetWork returns no pod, Next and Due return false, and Remove does nothing.", func(b *testCase) {
		b.queue.Remove("a")
		b.callGetWorkAndCheck(0)
		b.checkEmpty("a")
	}},
	{"due/not-after-now", "A pod is due exactly at its time, and not a nanosecond earlier.", func(b *testCase) {
		b.enqueue("a", second)
		b.callGetWorkAndCheck(second - 1)
		b.callGetWorkAndCheck(second, "a")
	}},
	{"due/past", "A pod whose time is in the past is due.", func(b *testCase) {
		b.enqueue("a", -time.Hour)
		b.queue.EnqueueAt("b", time.Time{})
		b.callGetWorkAndCheck(0, "a", "b")
	}},
	{"due/once", "Each due pod is returned once; the others stay in the queue.", func(b *testCase) {
		b.enqueue("a", 0)
		b.enqueue("b", second)
		b.callGetWorkAndCheck(0, "a")
		b.callGetWorkAndCheck(0)
		b.callGetWorkAndCheck(second, "b")
		b.checkEmpty("a", "b")
	}},
	{"due/again", "A pod that was returned can be enqueued again.", func(b *testCase) {
		for n := range time.Duration(3) {
			b.enqueue("a", n*second)
			b.callGetWorkAndCheck(n*second - 1)
			b.callGetWorkAndCheck(n*second, "a")
		}
	}},
	{"due/clock-goes-back", "GetWork with an earlier time than before returns the pods that are due at that time.", func(b *testCase) {
		b.enqueue("a", second)
		b.callGetWorkAndCheck(0)
		b.callGetWorkAndCheck(-time.Hour)
		b.enqueue("b", -time.Minute)
		b.callGetWorkAndCheck(-time.Hour)
		b.callGetWorkAndCheck(-time.Minute, "b")
		b.callGetWorkAndCheck(second, "a")
	}},
	{"due/appended", "GetWork appends to the slice that it is given.", func(b *testCase) {
		b.enqueue("a", 0)
		before := append(make([]types.UID, 0, 8), "x", "y")
		if got := b.queue.GetWork(timeAfterEpoch(0), before); !slices.Equal(got, []types.UID{"x", "y", "a"}) {
			b.Failf("GetWork appended to [x y] is %q", got)
		}
		if got := b.queue.GetWork(timeAfterEpoch(0), before); !slices.Equal(got, []types.UID{"x", "y"}) {
			b.Failf("GetWork without work, appended to [x y], is %q", got)
		}
	}},
	{"due/slice-not-kept", "The caller may modify the slice that GetWork returns: the queue does not use it.", func(b *testCase) {
		b.enqueue("a", 0)
		b.enqueue("b", 0)
		buf := b.queue.GetWork(timeAfterEpoch(0), make([]types.UID, 0, 8))
		b.enqueue("c", second)
		b.enqueue("d", second)
		clear(buf[:cap(buf)])
		b.checkDue("c", second)
		b.callGetWorkAndCheck(second, "c", "d")
	}},
	{"overwrite/later", "The last time counts if it is later.", func(b *testCase) {
		b.enqueue("a", 0)
		b.enqueue("a", second)
		b.callGetWorkAndCheck(second - 1)
		b.callGetWorkAndCheck(second, "a")
		b.checkEmpty("a")
	}},
	{"overwrite/earlier", "The last time counts if it is earlier.", func(b *testCase) {
		b.enqueue("a", time.Hour)
		b.enqueue("a", second)
		b.checkNext(second)
		b.callGetWorkAndCheck(second, "a")
		b.callGetWorkAndCheck(time.Hour)
		b.checkEmpty("a")
	}},
	{"remove", "A removed pod is never due; the others are not affected.", func(b *testCase) {
		for _, uid := range []types.UID{"a", "b", "c"} {
			b.enqueue(uid, second)
		}
		b.queue.Remove("b")
		b.queue.Remove("b")
		b.callGetWorkAndCheck(second, "a", "c")
		b.checkEmpty("a", "b", "c")
	}},
	{"remove/again", "A pod that was removed can be enqueued again.", func(b *testCase) {
		b.enqueue("a", second)
		b.queue.Remove("a")
		b.enqueue("a", 2*second)
		b.checkNext(2 * second)
		b.callGetWorkAndCheck(second)
		b.callGetWorkAndCheck(2*second, "a")
	}},
	{"next/earliest", "Next returns the earliest time after any sequence of EnqueueAt, Remove and GetWork.", func(b *testCase) {
		b.enqueue("b", 2*second)
		b.checkNext(2 * second)
		b.enqueue("a", second)
		b.enqueue("c", 3*second)
		b.checkNext(second)
		b.queue.Remove("a")
		b.checkNext(2 * second)
		b.callGetWorkAndCheck(2*second, "b")
		b.checkNext(3 * second)
	}},
	{"next/past", "Next may return a time in the past, until GetWork has returned the due pods.", func(b *testCase) {
		b.enqueue("a", -time.Hour)
		b.checkNext(-time.Hour)
		b.callGetWorkAndCheck(0, "a")
		b.checkEmpty("a")
	}},
	{"due-of-a-pod", "Due returns the time of the pod and changes nothing.", func(b *testCase) {
		b.enqueue("a", second)
		b.enqueue("b", 2*second)
		for range 2 {
			b.checkDue("a", second)
			b.checkDue("b", 2*second)
		}
		b.callGetWorkAndCheck(2*second, "a", "b")
	}},
	{"many", "A queue of a thousand pods agrees with a simple model during a random sequence of calls.", func(b *testCase) {
		m := model{}
		for n, c := range randomCalls(1, 1000, 20_000) {
			m.applyAndCompare(b, n, c)
		}
	}},
	{"same", "The same calls give the same results, in the same order.", func(b *testCase) {
		other := b.factory()
		for n, c := range randomCalls(2, 50, 2000) {
			mine, theirs := c.makeCallOnQueue(b.queue), c.makeCallOnQueue(other)
			if !slices.Equal(mine, theirs) {
				b.Failf("call %d: GetWork is %q on one queue and %q on another with the same calls", n, mine, theirs)
			}
		}
	}},
}

// call is one call of a WorkQueue in a random sequence.
type call struct {
	kind int // 0, 1, 2: EnqueueAt; 3: Remove; 4: GetWork
	uid  types.UID
	at   time.Time
}

// randomCalls returns a list of random queue calls with increasing times. Equal arguments give an equal list.
func randomCalls(seed uint64, pods, calls int) []call {
	random := rand.New(rand.NewPCG(seed, 0))
	list := make([]call, calls)
	for n := range list {
		now := time.Duration(n) * time.Millisecond
		c := call{kind: random.IntN(5), uid: types.UID(fmt.Sprint(random.IntN(pods))), at: timeAfterEpoch(now)}
		if c.kind < 3 {
			c.at = timeAfterEpoch(now + time.Duration(random.IntN(1000)-10)*time.Millisecond)
		}
		list[n] = c
	}
	return list
}

// makeCallOnQueue makes the call on the queue: EnqueueAt, Remove or GetWork. It returns the result of GetWork,
// and nil for the other methods.
func (c call) makeCallOnQueue(q workqueue.WorkQueue) []types.UID {
	switch c.kind {
	case 3:
		q.Remove(c.uid)
	case 4:
		return q.GetWork(c.at, nil)
	default:
		q.EnqueueAt(c.uid, c.at)
	}
	return nil
}

// model is a simple queue that the real one is compared with.
type model map[types.UID]time.Time

// applyAndCompare makes call number n on the queue and on the model, and fails the test if their results of
// GetWork, Due or Next differ.
func (m model) applyAndCompare(b *testCase, n int, c call) {
	got := slices.Sorted(slices.Values(c.makeCallOnQueue(b.queue)))
	var want []types.UID
	switch c.kind {
	case 3:
		delete(m, c.uid)
	case 4:
		want = m.getWork(c.at)
	default:
		m[c.uid] = c.at
	}
	if !slices.Equal(got, want) {
		b.Failf("call %d: GetWork is %q, want %q", n, got, want)
	}
	wantDue, want1 := m[c.uid]
	if due, ok := b.queue.Due(c.uid); ok != want1 || !due.Equal(wantDue) {
		b.Failf("call %d: Due(%s) is %s, %t, want %s, %t", n, c.uid, due, ok, wantDue, want1)
	}
	wantNext, want2 := m.earliestDueTime()
	if next, ok := b.queue.Next(); ok != want2 || ok && !next.Equal(wantNext) {
		b.Failf("call %d: Next is %s, %t, want %s, %t", n, next, ok, wantNext, want2)
	}
}

// getWork removes the pods that are due from the model and returns them, sorted by UID.
func (m model) getWork(now time.Time) (due []types.UID) {
	for uid, at := range m {
		if !at.After(now) {
			due = append(due, uid)
			delete(m, uid)
		}
	}
	slices.Sort(due)
	return due
}

// earliestDueTime returns the earliest due time in the model. ok is false if the model is empty.
func (m model) earliestDueTime() (next time.Time, ok bool) {
	for _, at := range m {
		if !ok || at.Before(next) {
			next, ok = at, true
		}
	}
	return next, ok
}
