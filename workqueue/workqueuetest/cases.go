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
	{"empty", "An empty queue has no work, no next time and no time of any pod; Remove does nothing.", func(b *bench) {
		b.queue.Remove("a")
		b.work(0)
		b.empty("a")
	}},
	{"due/not-after-now", "A pod is due exactly at its time, and not a nanosecond earlier.", func(b *bench) {
		b.enqueue("a", second)
		b.work(second - 1)
		b.work(second, "a")
	}},
	{"due/past", "A pod whose time is long past is due.", func(b *bench) {
		b.enqueue("a", -time.Hour)
		b.queue.EnqueueAt("b", time.Time{})
		b.work(0, "a", "b")
	}},
	{"due/once", "Each pod is returned once; those that are not due stay.", func(b *bench) {
		b.enqueue("a", 0)
		b.enqueue("b", second)
		b.work(0, "a")
		b.work(0)
		b.work(second, "b")
		b.empty("a", "b")
	}},
	{"due/again", "A pod that was returned can be enqueued again.", func(b *bench) {
		for n := range time.Duration(3) {
			b.enqueue("a", n*second)
			b.work(n*second - 1)
			b.work(n*second, "a")
		}
	}},
	{"due/clock-goes-back", "GetWork with an earlier time than before returns what is due then.", func(b *bench) {
		b.enqueue("a", second)
		b.work(0)
		b.work(-time.Hour)
		b.enqueue("b", -time.Minute)
		b.work(-time.Hour)
		b.work(-time.Minute, "b")
		b.work(second, "a")
	}},
	{"due/appended", "GetWork appends to the slice that it is given.", func(b *bench) {
		b.enqueue("a", 0)
		before := append(make([]types.UID, 0, 8), "x", "y")
		if got := b.queue.GetWork(at(0), before); !slices.Equal(got, []types.UID{"x", "y", "a"}) {
			b.Failf("GetWork appended to [x y] is %q", got)
		}
		if got := b.queue.GetWork(at(0), before); !slices.Equal(got, []types.UID{"x", "y"}) {
			b.Failf("GetWork without work, appended to [x y], is %q", got)
		}
	}},
	{"due/slice-not-kept", "The slice that GetWork returns is the caller's: changing it changes nothing.", func(b *bench) {
		b.enqueue("a", 0)
		b.enqueue("b", 0)
		buf := b.queue.GetWork(at(0), make([]types.UID, 0, 8))
		b.enqueue("c", second)
		b.enqueue("d", second)
		clear(buf[:cap(buf)])
		b.due("c", second)
		b.work(second, "c", "d")
	}},
	{"overwrite/later", "The last time counts if it is later.", func(b *bench) {
		b.enqueue("a", 0)
		b.enqueue("a", second)
		b.work(second - 1)
		b.work(second, "a")
		b.empty("a")
	}},
	{"overwrite/earlier", "The last time counts if it is earlier.", func(b *bench) {
		b.enqueue("a", time.Hour)
		b.enqueue("a", second)
		b.next(second)
		b.work(second, "a")
		b.work(time.Hour)
		b.empty("a")
	}},
	{"remove", "A removed pod is never due; the others are as before.", func(b *bench) {
		for _, uid := range []types.UID{"a", "b", "c"} {
			b.enqueue(uid, second)
		}
		b.queue.Remove("b")
		b.queue.Remove("b")
		b.work(second, "a", "c")
		b.empty("a", "b", "c")
	}},
	{"remove/again", "A pod that was removed can be enqueued again.", func(b *bench) {
		b.enqueue("a", second)
		b.queue.Remove("a")
		b.enqueue("a", 2*second)
		b.next(2 * second)
		b.work(second)
		b.work(2*second, "a")
	}},
	{"next/earliest", "Next is the earliest time, whatever was enqueued, removed or returned before.", func(b *bench) {
		b.enqueue("b", 2*second)
		b.next(2 * second)
		b.enqueue("a", second)
		b.enqueue("c", 3*second)
		b.next(second)
		b.queue.Remove("a")
		b.next(2 * second)
		b.work(2*second, "b")
		b.next(3 * second)
	}},
	{"next/past", "Next may lie in the past, until GetWork has returned what is due.", func(b *bench) {
		b.enqueue("a", -time.Hour)
		b.next(-time.Hour)
		b.work(0, "a")
		b.empty("a")
	}},
	{"due-of-a-pod", "Due is the time of the pod and changes nothing.", func(b *bench) {
		b.enqueue("a", second)
		b.enqueue("b", 2*second)
		for range 2 {
			b.due("a", second)
			b.due("b", 2*second)
		}
		b.work(2*second, "a", "b")
	}},
	{"many", "A queue of a thousand pods, through a random sequence of calls, agrees with a map.", func(b *bench) {
		m := model{}
		for n, c := range script(1, 1000, 20_000) {
			m.call(b, n, c)
		}
	}},
	{"same", "The same calls give the same answers, in the same order.", func(b *bench) {
		other := b.factory()
		for n, c := range script(2, 50, 2000) {
			mine, theirs := c.on(b.queue), c.on(other)
			if !slices.Equal(mine, theirs) {
				b.Failf("call %d: GetWork is %q on one queue and %q on another with the same calls", n, mine, theirs)
			}
		}
	}},
}

// call is one call of a script.
type call struct {
	kind int // 0, 1, 2: EnqueueAt; 3: Remove; 4: GetWork
	uid  types.UID
	at   time.Time
}

// script is a random sequence of calls, of so many pods.
func script(seed uint64, pods, calls int) []call {
	random := rand.New(rand.NewPCG(seed, 0))
	list := make([]call, calls)
	for n := range list {
		now := time.Duration(n) * time.Millisecond
		c := call{kind: random.IntN(5), uid: types.UID(fmt.Sprint(random.IntN(pods))), at: at(now)}
		if c.kind < 3 {
			c.at = at(now + time.Duration(random.IntN(1000)-10)*time.Millisecond)
		}
		list[n] = c
	}
	return list
}

// on makes the call and returns what GetWork did.
func (c call) on(q workqueue.WorkQueue) []types.UID {
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

// model is a queue that is too slow to be used.
type model map[types.UID]time.Time

// call makes a call on the queue and compares what it shows with the model.
func (m model) call(b *bench, n int, c call) {
	got := slices.Sorted(slices.Values(c.on(b.queue)))
	var want []types.UID
	switch c.kind {
	case 3:
		delete(m, c.uid)
	case 4:
		want = m.work(c.at)
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
	wantNext, want2 := m.next()
	if next, ok := b.queue.Next(); ok != want2 || ok && !next.Equal(wantNext) {
		b.Failf("call %d: Next is %s, %t, want %s, %t", n, next, ok, wantNext, want2)
	}
}

func (m model) work(now time.Time) (due []types.UID) {
	for uid, at := range m {
		if !at.After(now) {
			due = append(due, uid)
			delete(m, uid)
		}
	}
	slices.Sort(due)
	return due
}

func (m model) next() (next time.Time, ok bool) {
	for _, at := range m {
		if !ok || at.Before(next) {
			next, ok = at, true
		}
	}
	return next, ok
}
