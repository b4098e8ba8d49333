package outbox

import (
	"container/heap"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// fairness is how many urgent pods go before one that is not.
const fairness = 8

// Box has what is to be sent. Make one with New.
type Box[V any] struct {
	pods             map[types.UID]*pod[V]
	urgent, ordinary []ticket
	later            timers
	streak           int // urgent ones in a row, while others wait
	tickets          uint64
}

// pod is in the box as long as there is something to send of it, or being sent.
type pod[V any] struct {
	value   V
	has     bool // there is a value that was not taken
	urgent  bool
	sending bool
	off     bool      // put off: its place is among the timers
	soft    bool      // ... until something newer comes
	until   time.Time // when it is due, while it is put off
	newer   time.Time // from when something newer may be sent
	ticket  uint64    // the only one that counts
}

// ticket is a place in a queue, or among the timers. It counts as long as it is
// the pod's last one.
type ticket struct {
	uid    types.UID
	number uint64
	at     time.Time
}

// New returns an empty box.
func New[V any]() *Box[V] { return &Box[V]{pods: make(map[types.UID]*pod[V])} }

// Put says what is newest of a pod.
func (b *Box[V]) Put(uid types.UID, value V, urgent bool) {
	p := b.pods[uid]
	if p == nil {
		p = &pod[V]{}
		b.pods[uid] = p
	}
	queued := p.has
	sooner := urgent && !p.urgent
	p.value, p.has, p.urgent = value, true, p.urgent || urgent
	switch {
	case p.off && p.soft:
		p.off, queued = false, false
	case p.off && p.newer.Before(p.until):
		b.wait(uid, p, p.newer)
	}
	if !p.sending && !p.off && (!queued || sooner) {
		b.queue(uid, p)
	}
}

// queue gives a pod a place, in place of any that it has.
func (b *Box[V]) queue(uid types.UID, p *pod[V]) {
	t := b.ticket(uid, p)
	if p.urgent {
		b.urgent = append(b.urgent, t)
	} else {
		b.ordinary = append(b.ordinary, t)
	}
}

func (b *Box[V]) ticket(uid types.UID, p *pod[V]) ticket {
	b.tickets++
	p.ticket = b.tickets
	return ticket{uid: uid, number: b.tickets}
}

// Take gives what is to be sent now, which then is being sent. False: nothing is.
func (b *Box[V]) Take(now time.Time) (types.UID, V, bool) {
	b.wake(now)
	first, second := &b.urgent, &b.ordinary
	if b.streak >= fairness {
		first, second = second, first
	}
	uid, ok := b.pop(first)
	if !ok {
		uid, ok = b.pop(second)
	}
	if !ok {
		b.streak = 0
		var none V
		return "", none, false
	}
	p := b.pods[uid]
	b.streak++
	if !p.urgent || len(b.ordinary) == 0 {
		b.streak = 0
	}
	value := p.value
	*p = pod[V]{sending: true}
	return uid, value, true
}

// wake gives those who were put off until now a place in the queue.
func (b *Box[V]) wake(now time.Time) {
	for len(b.later) > 0 && !b.later[0].at.After(now) {
		t := heap.Pop(&b.later).(ticket)
		if p := b.pods[t.uid]; p != nil && p.off && p.ticket == t.number {
			p.off = false
			b.queue(t.uid, p)
		}
	}
}

// pop takes the first ticket that counts off a queue.
func (b *Box[V]) pop(queue *[]ticket) (types.UID, bool) {
	for len(*queue) > 0 {
		t := (*queue)[0]
		*queue = (*queue)[1:]
		if p := b.pods[t.uid]; p != nil && p.has && !p.off && !p.sending && p.ticket == t.number {
			return t.uid, true
		}
	}
	*queue = nil
	return "", false
}

// Sent says that what was taken of a pod has arrived.
func (b *Box[V]) Sent(uid types.UID) {
	p := b.pods[uid]
	if p == nil || !p.sending {
		return
	}
	p.sending = false
	switch {
	case !p.has:
		delete(b.pods, uid)
	case !p.off:
		b.queue(uid, p)
	}
}

// Again says that a value is to be sent at a time although nothing is newer. For a pod of
// which something is to be sent in any case it only ends a wait for something newer sooner.
func (b *Box[V]) Again(uid types.UID, value V, at time.Time) {
	p := b.pods[uid]
	switch {
	case p == nil:
		p = &pod[V]{}
		b.pods[uid] = p
	case p.has && !(p.off && p.soft && at.Before(p.until)):
		return
	}
	p.value, p.has, p.soft = value, true, true
	b.wait(uid, p, at)
}

// WakeFailed makes every pod due that was put off after a failure.
func (b *Box[V]) WakeFailed(now time.Time) { b.wakeAll(now, false) }

// WakeHeld makes every pod due that waits after Hold or Again.
func (b *Box[V]) WakeHeld(now time.Time) { b.wakeAll(now, true) }

func (b *Box[V]) wakeAll(now time.Time, soft bool) {
	for _, uid := range b.Left() {
		if p := b.pods[uid]; p.off && p.soft == soft {
			b.wait(uid, p, now)
		}
	}
}

// PutOff says that what was taken of a pod has not arrived, and that nothing is
// to be sent of it before a time. A newer value takes its place, and may go from
// an earlier time on. It is urgent only if that is: what fails does not go before
// others again.
func (b *Box[V]) PutOff(uid types.UID, value V, until, newer time.Time) {
	p := b.pods[uid]
	if p == nil || !p.sending {
		return
	}
	p.sending = false
	if p.newer = newer; !p.has || p.off {
		p.value, p.has, p.off, p.soft = value, true, false, false
	} else if newer.Before(until) {
		until = newer
	}
	b.wait(uid, p, until)
}

// Hold says that of a pod nothing is to be sent before a time, unless something
// newer is to be said; then that is, at once.
func (b *Box[V]) Hold(uid types.UID, value V, until time.Time) {
	p := b.pods[uid]
	if p == nil || !p.sending {
		return
	}
	p.sending = false
	if p.has && !p.off {
		b.queue(uid, p)
		return
	}
	p.value, p.has, p.urgent, p.soft = value, true, true, true
	b.wait(uid, p, until)
}

// wait gives a pod a place among the timers.
func (b *Box[V]) wait(uid types.UID, p *pod[V], until time.Time) {
	p.off, p.until = true, until
	t := b.ticket(uid, p)
	t.at = until
	heap.Push(&b.later, t)
}

// Has reports whether something of a pod is to be sent, or is being.
func (b *Box[V]) Has(uid types.UID) bool { return b.pods[uid] != nil }

// Empty reports whether nothing of any pod is to be sent or being sent.
func (b *Box[V]) Empty() bool { return len(b.pods) == 0 }

// Next is when the first of those who were put off is due. False: none is.
func (b *Box[V]) Next() (time.Time, bool) {
	if len(b.later) == 0 {
		return time.Time{}, false
	}
	return b.later[0].at, true
}

// Left are the UIDs of these pods, in order.
func (b *Box[V]) Left() []types.UID {
	left := make([]types.UID, 0, len(b.pods))
	for uid := range b.pods {
		left = append(left, uid)
	}
	slices.Sort(left)
	return left
}

// timers is a heap by time, and of one time by order.
type timers []ticket

func (t timers) Len() int { return len(t) }

func (t timers) Less(i, j int) bool {
	if !t[i].at.Equal(t[j].at) {
		return t[i].at.Before(t[j].at)
	}
	return t[i].number < t[j].number
}

func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push is for package heap.
func (t *timers) Push(x any) { *t = append(*t, x.(ticket)) }

// Pop is for package heap.
func (t *timers) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	(*t)[last] = ticket{}
	*t = (*t)[:last]
	return x
}
