package admission

import (
	"cmp"
	"slices"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Margin is how much longer than the grace of the others a pod waits that does not
// wait for as long as it takes.
const Margin = 30 * time.Second

// Answer is that of admission.
type Answer struct {
	Admit           bool
	Reason, Message string // of a refusal
	// Unknown: there is no answer. A pod that waits goes on waiting.
	Unknown bool
	// Pending: the node cannot run the pod yet. It waits until an answer admits it, for as
	// long as that takes.
	Pending bool
	// Full: the pod waits because of pods that need not end. Judge sets it.
	Full bool
	// Short is why a refusal stands for as long as others request so much; the zero value is
	// no such reason.
	Short Shortage
}

// same: they say the same. Of shortages the reasons tell.
func (a Answer) same(b Answer) bool {
	a.Short, b.Short = Shortage{}, Shortage{}
	return a == b
}

// Beside is what a pod would have beside it. Neither has anything of its own UID.
type Beside struct {
	// Staying are the pods that stay, and those that wait before it.
	Staying Taken
	// Ending are the pods that are ending; nil: the question is what admission
	// would say without any.
	Ending Taken
}

// Taken is what several pods take together: Sums, or an Extract of some.
type Taken interface {
	// Len is how many pods there are.
	Len() int
	// Requested is what all of them request of a resource.
	Requested(name v1.ResourceName) resource.Quantity
	// Holder finds one whose host ports conflict with this one.
	Holder(port podspec.HostPort) (Item, bool)
	// Named lists those of a name.
	Named(namespace, name string) []Item
	// Pods lists all. The list is shared, and only read.
	Pods() []*v1.Pod
}

// Ask puts a pod before admission. It changes nothing.
type Ask func(uid types.UID, beside Beside) Answer

// Verdict is what becomes of a pod.
type Verdict uint8

// The verdicts.
const (
	// Admitted: it starts, and stays.
	Admitted Verdict = iota + 1
	// Waits: others have to end first.
	Waits
	// Refused: it is out of the queue.
	Refused
)

// Decision is a verdict on a pod, and why.
type Decision struct {
	UID     types.UID
	Verdict Verdict
	// Answer is the refusal that the pod waits because of, or is refused with.
	Answer Answer
	// For are the pods that it waits for, the last to end at the end.
	For []types.UID
	// Until is when it is refused if it still waits; zero: never.
	Until time.Time
}

// Queue is what the pods of a node take, and who waits for some of it. The zero
// value has no pods.
type Queue struct {
	// WaitWhenFull: a patient pod waits also for pods that need not end, and pods wait in
	// order of their priority, those of one priority in order of arrival. It is set before
	// the first pod comes.
	WaitWhenFull bool

	staying Sums // those that wait included
	ending  Sums
	// until is when the pods that are ending should have ended.
	until   map[types.UID]time.Time
	waiting []*waiter // in the order in which they are asked about
	waits   map[types.UID]*waiter
	limited int // how many of them do not wait for as long as it takes
	// touched are the pods that have changed since the last Update of a Usage.
	touched map[types.UID]uint8
	// changed: an answer may be another than at the last Review.
	changed bool
	// anew: admission itself may be another, so that no shortage stands.
	anew bool
}

// waiter is a pod that waits.
type waiter struct {
	item     Item
	requests amounts // of item
	patient  bool
	renewed  bool // it may request less than when it was asked about last
	at       int  // place among those that wait, during a review or an arrival
	Decision
}

func newWaiter(item Item, patient bool) *waiter {
	return &waiter{item: item, requests: amountsOf(item.Requests), patient: patient, Decision: Decision{UID: item.UID}}
}

// Staying and Ending are the sums of those pods, for reading only.
func (l *Queue) Staying() *Sums { return &l.staying }

// Ending are the sums of the pods that are ending, for reading only.
func (l *Queue) Ending() *Sums { return &l.ending }

// Stay counts a pod that needs no admission, or has had it, or renews what it
// takes. One that waits goes on waiting, with what it takes now.
func (l *Queue) Stay(item Item) {
	if w := l.waits[item.UID]; w != nil {
		before := w.item
		w.renewed = true
		w.requests = amountsOf(item.Requests)
		if w.item = item; l.rank(before) != l.rank(item) {
			l.waiting = slices.DeleteFunc(l.waiting, func(other *waiter) bool { return other == w })
			l.waiting = slices.Insert(l.waiting, l.place(w), w)
		}
	}
	l.changed = true
	l.staying.Put(item)
	l.touch(item.UID, inStaying)
}

// Touch has the next Update of a Usage look at a pod that has been decided on otherwise.
func (l *Queue) Touch(uid types.UID) { l.touch(uid, inStaying) }

func (l *Queue) touch(uid types.UID, part uint8) {
	if l.touched == nil {
		l.touched = make(map[types.UID]uint8)
	}
	l.touched[uid] |= part
}

// rank is the place of a pod among those that wait: the highest is first.
func (l *Queue) rank(item Item) int32 { return Rank(item.Priority, l.WaitWhenFull) }

// Rank is the place of a pod of this priority among those that wait, by the WaitWhenFull of
// their Queue: the highest is first.
func Rank(priority int32, waitWhenFull bool) int32 {
	if !waitWhenFull {
		return 0
	}
	return priority
}

// compareRanks orders ranks, the highest first.
func compareRanks(a, b int32) int { return cmp.Compare(b, a) }

// Leave forgets that a pod stays, or waits.
func (l *Queue) Leave(uid types.UID) {
	if _, found := l.staying.Remove(uid); !found {
		return
	}
	l.changed = true
	l.touch(uid, inStaying)
	if w := l.waits[uid]; w != nil {
		l.waitsNoLonger(w)
		l.waiting = slices.DeleteFunc(l.waiting, func(other *waiter) bool { return other == w })
	}
}

// End counts a pod that still runs and has to end, by until if all goes well. What
// stays under its UID, if anything, is its next incarnation.
func (l *Queue) End(item Item, until time.Time) {
	if l.until == nil {
		l.until = make(map[types.UID]time.Time)
	}
	l.until[item.UID] = until
	l.changed = true
	l.ending.Put(item)
	l.touch(item.UID, inEnding)
}

// Ended forgets a pod that was ending: nothing of it runs any more, or it stays
// after all.
func (l *Queue) Ended(uid types.UID) {
	if _, found := l.ending.Remove(uid); found {
		delete(l.until, uid)
		l.changed = true
		l.touch(uid, inEnding)
	}
}

// WaitingUIDs returns those of the pods that wait, in the order in which they are asked
// about. The list is the caller's.
func (l *Queue) WaitingUIDs() []types.UID {
	uids := make([]types.UID, len(l.waiting))
	for i, w := range l.waiting {
		uids[i] = w.UID
	}
	return uids
}

// Recheck has the next Review ask about each pod again, whatever has changed.
func (l *Queue) Recheck() { l.changed, l.anew = true, true }

// Due reports whether a Review may decide something, whatever the time.
func (l *Queue) Due() bool { return l.changed && len(l.waiting) > 0 }

// Waiting reports whether a pod waits.
func (l *Queue) Waiting(uid types.UID) bool { return l.waits[uid] != nil }

// Admit decides on a pod that has arrived. A patient one waits for as long as it
// takes.
func (l *Queue) Admit(item Item, patient bool, now time.Time, ask Ask) Decision {
	l.Leave(item.UID)
	w := newWaiter(item, patient)
	place := l.place(w)
	l.decide(w, l.before(place), now, ask)
	if w.Verdict != Refused {
		l.staying.Put(item)
		l.changed = l.changed || place < len(l.waiting) // Less is left for those after it.
	}
	if w.Verdict == Waits {
		l.limit(w, now)
		l.waiting = slices.Insert(l.waiting, place, w)
		if l.waits == nil {
			l.waits = make(map[types.UID]*waiter)
		}
		l.waits[w.UID] = w
		if !patient {
			l.limited++
		}
	}
	l.touch(item.UID, inStaying)
	return w.Decision
}

// place is the one that a pod would have among those that wait.
func (l *Queue) place(w *waiter) int {
	return sort.Search(len(l.waiting), func(i int) bool { return compareRanks(l.rank(w.item), l.rank(l.waiting[i].item)) < 0 })
}

// limit says until when a pod waits at most: one that is not patient for as long as the
// others may take, and for ever if it is not them that it waits for.
func (l *Queue) limit(w *waiter, now time.Time) {
	switch {
	case w.Answer.Pending:
		w.Until = time.Time{}
	case !w.patient && w.Until.IsZero():
		w.Until = l.expected(w.For, now).Add(Margin)
	}
}

// Review asks about the pods that wait again, if something has changed or the time
// of one is over, and returns what is new. It says when the next one's is; false if
// none is limited.
func (l *Queue) Review(now time.Time, ask Ask) (decisions []Decision, next time.Time, timed bool) {
	if l.changed || l.overdue(now) {
		l.changed = false
		decisions = l.review(now, ask)
		l.changed, l.anew = false, false // By what has been decided; all have been asked after that.
	}
	if l.limited == 0 {
		return decisions, next, false
	}
	for _, w := range l.waiting {
		if !w.Until.IsZero() && (!timed || w.Until.Before(next)) {
			next, timed = w.Until, true
		}
	}
	return decisions, next, timed
}

func (l *Queue) overdue(now time.Time) bool {
	return l.limited > 0 && slices.ContainsFunc(l.waiting, func(w *waiter) bool { return w.late(now) })
}

func (w *waiter) late(now time.Time) bool { return !w.Until.IsZero() && !now.Before(w.Until) }

// review asks about one pod after the other, each beside those that stay and those that
// wait before it. A pod whose shortage stands is not asked about: the time of a review is
// that of some additions for each pod that waits.
func (l *Queue) review(now time.Time, ask Ask) (decisions []Decision) {
	beside := l.before(0)
	kept := l.waiting[:0]
	for i, w := range l.waiting {
		beside.place = i
		if w.Answer.Full && !l.anew && !w.renewed && w.Answer.Short.stands(beside) {
			kept = append(kept, w)
			beside.after.sub(w.requests)
			continue
		}
		before := w.Decision
		w.renewed = false
		l.decide(w, beside, now, ask)
		if w.Verdict == Waits && !w.Answer.Unknown {
			l.limit(w, now)
		}
		if w.Verdict == Waits && w.late(now) {
			w.Verdict, w.For = Refused, nil
		}
		beside.after.sub(w.requests)
		switch w.Verdict {
		case Waits:
			kept = append(kept, w)
		case Refused:
			l.staying.Remove(w.UID)
			fallthrough
		default:
			l.waitsNoLonger(w)
			l.touch(w.UID, inStaying)
		}
		if w.Verdict != Waits || !w.Answer.same(before.Answer) || !slices.Equal(w.For, before.For) {
			decisions = append(decisions, w.Decision)
		}
	}
	clear(l.waiting[len(kept):])
	l.waiting = kept
	return decisions
}

// waitsNoLonger forgets that a pod waits. The list of those that do is the caller's.
func (l *Queue) waitsNoLonger(w *waiter) {
	delete(l.waits, w.UID)
	if !w.patient {
		l.limited--
	}
}

// decide finds the verdict on a pod, beside these pods and those that are ending.
func (l *Queue) decide(w *waiter, staying Taken, now time.Time, ask Ask) {
	own, restore := l.ending.Remove(w.UID) // A pod does not wait for its own previous incarnation.
	defer func() {
		if restore {
			l.ending.Put(own)
		}
	}()
	w.Verdict, w.Answer, _ = Judge(Beside{Staying: staying, Ending: &l.ending}, l.WaitWhenFull && w.patient,
		func(_ Question, beside Beside) Answer { return ask(w.UID, beside) })
	if w.Verdict != Waits || w.Answer.Unknown || w.Answer.Pending || w.Answer.Full {
		w.For = nil
	} else if !l.stillBlocked(w) {
		w.For = l.blockers(w.UID, staying, now, ask)
	}
}

// stillBlocked: all that the pod was said to wait for still have to end.
func (l *Queue) stillBlocked(w *waiter) bool {
	return len(w.For) > 0 && !slices.ContainsFunc(w.For, func(uid types.UID) bool {
		_, there := l.ending.Get(uid)
		return !there
	})
}
