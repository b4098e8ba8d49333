package pleg

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg/internal/diff"
	"github.com/podkeel/podkeel/runtime"
)

// maxHints is how many hints of one pod are followed at once per period. An
// honest runtime sends a few per container.
const maxHints = 10

// maxTold is how often subscribers are told of one pod per period. What the runtime
// shows may be another thing each time it is asked, and whoever is told asks again: so
// each period in which it was not enough halves it, down to one. The rest waits for the
// period's end.
const maxTold = 32

// maxStorm is how often maxTold is halved.
const maxStorm = 5

// table is everything that is known and wanted: the cache, the newest listing,
// and who is to be inspected next. It is a plain value: the caller holds the
// lock, gives the time, calls the runtime and tells the subscribers.
//
// Every observation has a number, given when it begins. A pod's status carries
// the number of the inspection that read it (done). Somebody who needs a newer
// one writes down the number that it has to exceed (want). So
//
//	want >= done   an inspection is pending: queued, in flight, or failed
//	want <  done   the status is as new as anybody asked for, and every later
//	               listing that agrees with it renews it
//
// and all that ever happens is that want rises and inspections follow it.
type table struct {
	number  uint64 // of the newest observation begun
	listed  uint64 // of the newest listing that succeeded; 0 is none
	list    []runtime.Pod
	newest  uint64        // of the newest inspection that succeeded
	merged  []runtime.Pod // list with what was inspected since; nil: to be made
	records map[types.UID]*record

	queue    []*record // pending inspections, first come first served
	suspects []*record // the same, for pods whose last call hung
	later    []*record // failed, too early, or asked for too often: again at retryAt, or with the next listing
	retryAt  time.Time
	unsure   []*record // those whose status and listing disagree

	limit    int // inspections at a time
	running  int
	hanging  int    // of those, inspections of suspects
	readers  uint64 // that have ever waited
	scratch  [2][]diff.Item
	retryGap time.Duration

	strangers strangers
}

// record is one pod: a cache entry, and where it stands.
type record struct {
	uid    types.UID
	status *runtime.PodStatus // the newest that could be read; nil is none
	err    error              // of the newest inspection
	done   uint64             // the newest inspection
	read   uint64             // the newest that succeeded: it has read status
	want   uint64

	index    int    // in the listing; -1: not listed
	seen     uint64 // the listing that index was last looked up for
	window   time.Time
	toldFrom time.Time
	hints    uint32 // taken since window
	told     uint32 // how often subscribers would have been told since toldFrom
	storm    uint8  // periods in a row in which that was too often
	untold   Events // that wait

	doubled  bool // listed twice: the listing cannot be trusted
	queued   bool
	inFlight bool
	waiting  bool   // in later
	stranger bool   // only an event has named it
	suspect  bool   // the last call ran into its deadline
	hangs    bool   // the call in flight is a suspect's
	unsure   bool   // in table.unsure
	warned   string // container last reported to have come back to life
	waiters  []*waiter
}

// waiter is a blocked reader.
type waiter struct {
	seq    uint64 // order of arrival
	mark   uint64
	status *runtime.PodStatus
	err    error
	latch  executor.Latch
}

// begin numbers an observation.
func (t *table) begin() uint64 {
	t.number++
	return t.number
}

// record finds or makes the record of a pod.
func (t *table) record(uid types.UID) *record {
	r := t.records[uid]
	if r == nil {
		r = &record{uid: uid, index: -1}
		t.records[uid] = r
	}
	return r
}

// pending says that the pod needs an inspection that has not come yet.
func (r *record) pending() bool { return r.want >= r.done }

// entry is what is known of the pod, whether fresh or not.
func (r *record) entry() (*runtime.PodStatus, error) {
	if r.status == nil {
		return &runtime.PodStatus{UID: r.uid}, r.err
	}
	return r.status, r.err
}

// look answers a reader that needs an observation newer than mark. A listing
// counts for every pod that it agreed with and for every pod that nobody has
// heard of: absence from a listing that succeeded is an observation too.
func (t *table) look(uid types.UID, mark uint64) (status *runtime.PodStatus, err error, ok bool) {
	r := t.records[uid]
	if r == nil {
		return &runtime.PodStatus{UID: uid}, nil, t.listed > mark
	}
	fresh := r.done
	if !r.pending() {
		fresh = max(fresh, t.listed)
	}
	status, err = r.entry()
	return status, err, fresh > mark
}

// ask makes an inspection begun after now pending.
func (t *table) ask(r *record, mark uint64) {
	r.want = max(r.want, mark)
	t.enqueue(r)
}

// hint is ask for somebody who may ask ten thousand times a second (F65): what
// exceeds maxHints within one period waits for its end.
func (t *table) hint(r *record, now time.Time) {
	if age := now.Sub(r.window); age < 0 || age >= t.retryGap {
		r.window, r.hints = now, 0
	}
	if r.hints++; r.hints > maxHints {
		t.retry(r, now)
		return
	}
	t.ask(r, t.number)
}

// tell returns what subscribers are told of a pod now. The rest is told after another
// look at the pod.
func (t *table) tell(r *record, events Events, now time.Time) Events {
	if events |= r.untold; events == 0 {
		return 0
	}
	if age := now.Sub(r.toldFrom); age < 0 || age >= t.retryGap {
		if r.told > maxTold>>r.storm {
			r.storm = min(r.storm+1, maxStorm)
		} else {
			r.storm = 0
		}
		r.toldFrom, r.told = now, 0
	}
	if r.told++; r.told > maxTold>>r.storm {
		r.untold = events
		return 0
	}
	r.untold = 0
	return events
}

// enqueue puts a pod that has an inspection pending into the queue, once.
func (t *table) enqueue(r *record) {
	if !r.pending() || r.queued || r.inFlight {
		return
	}
	r.queued = true
	if r.suspect {
		t.suspects = append(t.suspects, r)
		return
	}
	t.queue = append(t.queue, r)
}

// take hands out the next inspection, with its number, if there is a free
// slot. Pods that hung last time share half of the slots, so that however many
// they are, the others always have the rest.
func (t *table) take() (r *record, number uint64) {
	switch {
	case t.running >= t.limit:
		return nil, 0
	case len(t.queue) > 0:
		r, t.queue = pop(t.queue)
	case len(t.suspects) > 0 && t.hanging < max(1, t.limit/2):
		r, t.suspects = pop(t.suspects)
		r.hangs = true
		t.hanging++
	default:
		return nil, 0
	}
	t.running++
	r.queued, r.inFlight = false, true
	return r, t.begin()
}

func pop(queue []*record) (*record, []*record) {
	r := queue[0]
	queue[0] = nil
	return r, queue[1:]
}

// complete ends the flight of an inspection.
func (t *table) complete(r *record) {
	t.running--
	r.inFlight = false
	if r.hangs {
		r.hangs = false
		t.hanging--
	}
}

// abandon takes back an inspection that was cut short by ourselves: nothing is
// known, and it is still pending.
func (t *table) abandon(r *record) {
	t.complete(r)
	t.enqueue(r)
}

// outcome is what an inspection leads to, for the caller to carry out once it
// has let go of the lock.
type outcome struct {
	uid    types.UID
	events Events
	onset  bool // the first failure after a success
	back   []string
	awake  []*waiter
}

// finish stores what an inspection has read. hung says that it ran into its
// deadline. A result older than what is stored changes nothing (I24).
func (t *table) finish(r *record, number uint64, status *runtime.PodStatus, err error, hung bool, now time.Time) outcome {
	t.complete(r)
	if number <= r.done {
		t.enqueue(r)
		return outcome{}
	}
	out := outcome{uid: r.uid}
	r.done = number
	again := err != nil
	if err != nil {
		out.onset = r.err == nil
		if out.onset {
			out.events = PodSync
		}
		r.err = err
	} else {
		again = diff.Unexplained(r.status, status)
		out.events, out.back = t.store(r, status)
		r.read = number
		t.newest, t.merged = max(t.newest, number), nil
		t.recordInspection(r, r.index >= 0 || !diff.Empty(r.status), now)
	}
	r.suspect = hung
	out.awake = r.release()
	t.enqueue(r)
	out.events = t.tell(r, out.events, now)
	if again || r.untold != 0 {
		t.retry(r, now)
	}
	t.drop(r)
	return out
}

// store replaces the status of a pod and says what that means. The pointer
// stays the same if nothing has changed.
func (t *table) store(r *record, status *runtime.PodStatus) (Events, []string) {
	status, back := diff.Amend(r.status, status)
	if len(back) > 0 && back[0] == r.warned {
		back = nil
	} else if len(back) > 0 {
		r.warned = back[0]
	}
	failed := r.err != nil
	r.err = nil
	same := diff.Equal(r.status, status)
	var events Events
	if !same {
		before, after := diff.Items(t.scratch[0][:0], r.status), diff.Items(t.scratch[1][:0], status)
		t.scratch = [2][]diff.Item{before, after}
		events = Events(diff.Compare(before, after))
		if events == ContainerRemoved && !diff.OnlyLost(r.status, status) {
			events |= PodSync // What only lost records is not looked at.
		}
	}
	if !same || r.status == nil {
		r.status = status
	}
	if events == 0 && (failed || !same) {
		events = PodSync
	}
	t.settle(r)
	return events, back
}

// release answers the readers whom the newest inspection satisfies.
func (r *record) release() []*waiter {
	var awake []*waiter
	kept := r.waiters[:0]
	for _, w := range r.waiters {
		if w.mark >= r.done {
			kept = append(kept, w)
			continue
		}
		if w.err = r.err; w.err == nil {
			w.status = r.status
		}
		awake = append(awake, w)
	}
	clear(r.waiters[len(kept):])
	r.waiters = kept
	return awake
}

// retry schedules another look at a pod: its inspection has failed, or may have been
// too early to show all, or it has been asked for too often.
func (t *table) retry(r *record, now time.Time) {
	if r.waiting || r.queued {
		return
	}
	if len(t.later) == 0 {
		t.retryAt = now.Add(t.retryGap)
	}
	r.waiting = true
	t.later = append(t.later, r)
}

// retryLater makes an inspection pending of every pod that waits for one.
func (t *table) retryLater() {
	for _, r := range t.later {
		r.waiting = false
		t.ask(r, t.number)
	}
	clear(t.later)
	t.later = t.later[:0]
}

// drop forgets a pod of which there is nothing left to know.
func (t *table) drop(r *record) {
	gone := r.index < 0 && r.err == nil && diff.Empty(r.status)
	if gone && !r.pending() && !r.inFlight && !r.queued && !r.waiting && len(r.waiters) == 0 {
		delete(t.records, r.uid)
	}
}

// dismiss answers every waiting reader that nothing will come any more.
func (t *table) dismiss() []*waiter {
	var left []*waiter
	for _, r := range t.records {
		left = append(left, r.waiters...)
		r.waiters = nil
	}
	slices.SortFunc(left, func(a, b *waiter) int { return cmp.Compare(a.seq, b.seq) })
	for _, w := range left {
		w.err = ErrStopped
	}
	return left
}
