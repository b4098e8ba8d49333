package outbox

import (
	"container/heap"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxUrgentInRow is how many urgent pods are sent before one that is not urgent.
const maxUrgentInRow = 8

// Box is a queue with at most one value per pod. New returns one.
type Box[V any] struct {
	pods             map[types.UID]*pod[V]
	urgent, ordinary []ticket
	later            timers
	streak           int // urgent ones in a row while others wait
	tickets          uint64
}

// pod is the state of a pod that has a value to send or is being sent.
type pod[V any] struct {
	value          V
	hasValue       bool // value was not taken yet
	urgent         bool
	sending        bool
	delayed        bool      // it waits for a time, in later
	yieldsToNewer  bool      // a newer value ends the delay
	until          time.Time // the end of the delay
	newerAllowedAt time.Time // the earliest time to send a newer value
	ticket         uint64    // the valid ticket
}

// ticket is a position in a queue or among the timers. Only the newest ticket of a pod is valid.
type ticket struct {
	uid    types.UID
	number uint64
	at     time.Time
}

// New returns an empty Box.
func New[V any]() *Box[V] { return &Box[V]{pods: make(map[types.UID]*pod[V])} }

// Put sets the newest value of a pod.
func (b *Box[V]) Put(uid types.UID, value V, urgent bool) {
	p := b.pods[uid]
	if p == nil {
		p = &pod[V]{}
		b.pods[uid] = p
	}
	queued := p.hasValue
	sooner := urgent && !p.urgent
	p.value, p.hasValue, p.urgent = value, true, p.urgent || urgent
	switch {
	case p.delayed && p.yieldsToNewer:
		p.delayed, queued = false, false
	case p.delayed && p.newerAllowedAt.Before(p.until):
		b.delayUntil(uid, p, p.newerAllowedAt)
	}
	if !p.sending && !p.delayed && (!queued || sooner) {
		b.addToQueue(uid, p)
	}
}

// PutLater sets the newest value of a pod. If the pod has no other value to send, the value waits until a time. A newer
// value replaces it and does not end the wait.
func (b *Box[V]) PutLater(uid types.UID, value V, urgent bool, until time.Time) {
	waits := b.pods[uid] != nil && b.pods[uid].hasValue
	b.Put(uid, value, urgent)
	if !waits {
		p := b.pods[uid]
		p.newerAllowedAt, p.yieldsToNewer = until, false
		b.delayUntil(uid, p, until)
	}
}

// addToQueue adds a pod to the end of the queue for urgent or for ordinary pods. An earlier position of the pod
// becomes invalid.
func (b *Box[V]) addToQueue(uid types.UID, p *pod[V]) {
	t := b.newTicket(uid, p)
	if p.urgent {
		b.urgent = append(b.urgent, t)
	} else {
		b.ordinary = append(b.ordinary, t)
	}
}

// newTicket returns a new ticket (a position in a queue or among the timers) for a pod. An earlier ticket of
// the pod becomes invalid.
func (b *Box[V]) newTicket(uid types.UID, p *pod[V]) ticket {
	b.tickets++
	p.ticket = b.tickets
	return ticket{uid: uid, number: b.tickets}
}

// TakeNext returns the next value to send. The pod is being sent from then on. It returns false if
// no value is due.
func (b *Box[V]) TakeNext(now time.Time) (types.UID, V, bool) {
	b.queueDuePods(now)
	first, second := &b.urgent, &b.ordinary
	if b.streak >= maxUrgentInRow {
		first, second = second, first
	}
	uid, ok := b.popValidTicket(first)
	if !ok {
		uid, ok = b.popValidTicket(second)
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

// queueDuePods adds the pods whose delay has ended to their queues.
func (b *Box[V]) queueDuePods(now time.Time) {
	for len(b.later) > 0 && !b.later[0].at.After(now) {
		t := heap.Pop(&b.later).(ticket)
		if p := b.pods[t.uid]; p != nil && p.delayed && p.ticket == t.number {
			p.delayed = false
			b.addToQueue(t.uid, p)
		}
	}
}

// popValidTicket removes tickets from the front of a queue until it has removed one whose position is still
// valid, and returns the pod of this ticket. It returns false if the queue has no valid ticket.
func (b *Box[V]) popValidTicket(queue *[]ticket) (uid types.UID, found bool) {
	for len(*queue) > 0 {
		t := (*queue)[0]
		*queue = (*queue)[1:]
		if p := b.pods[t.uid]; p != nil && p.hasValue && !p.delayed && !p.sending && p.ticket == t.number {
			return t.uid, true
		}
	}
	*queue = nil
	return "", false
}

// FinishSending records that the taken value is not sent again: it was sent, refused or dropped.
func (b *Box[V]) FinishSending(uid types.UID) {
	p := b.pods[uid]
	if p == nil || !p.sending {
		return
	}
	p.sending = false
	switch {
	case !p.hasValue:
		delete(b.pods, uid)
	case !p.delayed:
		b.addToQueue(uid, p)
	}
}

// QueueResend sends a value at a time although nothing is newer. For a pod that has a value to send
// it can only end a delay earlier.
func (b *Box[V]) QueueResend(uid types.UID, value V, at time.Time) {
	p := b.pods[uid]
	switch {
	case p == nil:
		p = &pod[V]{}
		b.pods[uid] = p
	case p.hasValue && !(p.delayed && p.yieldsToNewer && at.Before(p.until)):
		return
	}
	p.value, p.hasValue, p.yieldsToNewer = value, true, true
	b.delayUntil(uid, p, at)
}

// WakeFailed makes every pod due that waits after a failure.
func (b *Box[V]) WakeFailed(now time.Time) { b.endDelays(now, false) }

// WakeHeld makes every pod due that waits after HoldUntil or QueueResend.
func (b *Box[V]) WakeHeld(now time.Time) { b.endDelays(now, true) }

// endDelays makes the delayed pods of one kind due now: those that wait for a retry, or, if yieldsToNewer is
// true, those that a newer status may replace earlier.
func (b *Box[V]) endDelays(now time.Time, yieldsToNewer bool) {
	for _, uid := range b.PendingUIDs() {
		if p := b.pods[uid]; p.delayed && p.yieldsToNewer == yieldsToNewer {
			b.delayUntil(uid, p, now)
		}
	}
}

// RetryAt records that a send has failed, and delays the value until a time. A newer value replaces
// it and may be sent at an earlier time. It is urgent only if the newer value is, so that a failing
// pod does not delay others.
func (b *Box[V]) RetryAt(uid types.UID, value V, until, newer time.Time) {
	p := b.pods[uid]
	if p == nil || !p.sending {
		return
	}
	p.sending = false
	if p.newerAllowedAt = newer; !p.hasValue || p.delayed && p.yieldsToNewer {
		p.value, p.hasValue, p.delayed, p.yieldsToNewer = value, true, false, false
	} else if newer.Before(until) {
		until = newer
	}
	b.delayUntil(uid, p, until)
}

// HoldUntil delays the value of a pod until a time. A newer value is sent at once.
func (b *Box[V]) HoldUntil(uid types.UID, value V, until time.Time) {
	p := b.pods[uid]
	if p == nil || !p.sending {
		return
	}
	p.sending = false
	switch {
	case p.hasValue && !p.delayed:
		b.addToQueue(uid, p)
		return
	case p.hasValue && !p.yieldsToNewer:
		return // A newer value waits.
	}
	p.value, p.hasValue, p.urgent, p.yieldsToNewer = value, true, true, true
	b.delayUntil(uid, p, until)
}

// delayUntil delays the sending of a pod's value until a time. An earlier queue position or delay of the pod
// becomes invalid.
func (b *Box[V]) delayUntil(uid types.UID, p *pod[V], until time.Time) {
	p.delayed, p.until = true, until
	t := b.newTicket(uid, p)
	t.at = until
	heap.Push(&b.later, t)
}

// Has reports whether a pod has a value to send or is being sent.
func (b *Box[V]) Has(uid types.UID) bool { return b.pods[uid] != nil }

// Empty reports whether no pod has a value to send or is being sent.
func (b *Box[V]) Empty() bool { return len(b.pods) == 0 }

// NextDue returns when the first delay ends; false if there is none.
func (b *Box[V]) NextDue() (time.Time, bool) {
	if len(b.later) == 0 {
		return time.Time{}, false
	}
	return b.later[0].at, true
}

// PendingUIDs returns the UIDs of all pods in the box, in order.
func (b *Box[V]) PendingUIDs() []types.UID {
	left := make([]types.UID, 0, len(b.pods))
	for uid := range b.pods {
		left = append(left, uid)
	}
	slices.Sort(left)
	return left
}

// timers is a heap by time, and by ticket for equal times.
type timers []ticket

func (t timers) Len() int { return len(t) }

func (t timers) Less(i, j int) bool {
	if !t[i].at.Equal(t[j].at) {
		return t[i].at.Before(t[j].at)
	}
	return t[i].number < t[j].number
}

func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push implements heap.Interface.
func (t *timers) Push(x any) { *t = append(*t, x.(ticket)) }

// Pop implements heap.Interface.
func (t *timers) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	(*t)[last] = ticket{}
	*t = (*t)[:last]
	return x
}
