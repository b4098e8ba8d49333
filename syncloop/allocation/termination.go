package allocation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// defaultGrace is that of a pod of which nothing else is known.
const defaultGrace = 30 * time.Second

// Worker is what a pod's worker says of it. The zero Worker is none.
type Worker struct {
	// Known: there is one.
	Known bool
	// Incarnation is that of the pod's UID.
	Incarnation uint64
	// Started: something was done for the pod. Requested: it has to end. Terminated: and nothing of
	// it runs any more.
	Started, Requested, Terminated bool
	// HasConfig is false for a pod that only the runtime knows.
	HasConfig bool
}

// Observed is what the workers, the runtime and the sources show of one pod now.
type Observed struct {
	Worker
	// Seen: the runtime has shown it last as one that may run.
	Seen bool
	// Given: its worker was given a pod.
	Given bool
	// Active: it is desired, and its status does not say that it has ended. The table reads it for a
	// pod without a worker that was seen.
	Active bool
	// Grace is that of its end; 0: nothing is known of it.
	Grace time.Duration
	// AloneUntil is when the end of a pod begins that is left alone until then, since its manifest
	// may be late; zero: it is not.
	AloneUntil time.Time
}

// ClaimsFrom says what shows the claims of a pod that ends, when the table calls for them.
type ClaimsFrom uint8

// The kinds of ClaimsFrom.
const (
	// FromNothing: only its UID is known.
	FromNothing ClaimsFrom = iota
	// FromWorker is the pod that its worker was given.
	FromWorker
	// FromRuntime is the pod as the runtime has shown it last.
	FromRuntime
)

// Termination is a pod that may still run and has to end.
type Termination struct {
	// Pod has what it takes until its containers have stopped.
	Pod Pod
	// Since is when it has begun to end, and Until when it should have ended.
	Since, Until time.Time

	worker      bool // it had one
	incarnation uint64
}

// Progress is how far a pod is with its end.
type Progress uint8

// The kinds of progress.
const (
	// NotEnding: it need not end, or nothing of it was ever started.
	NotEnding Progress = iota
	// Ending: it has to end and may still run.
	Ending
	// Ended: nothing of it runs any more, whatever the runtime has shown before.
	Ended
)

// Observe brings up to date whether a pod has to end and may still run: it has left the configuration,
// is being deleted or evicted, was rejected though it ran, or is known to the runtime only. Until its
// containers have stopped it takes what it takes, and the newest pod of its UID is its successor. The
// table calls pod for what the pod takes when it does not know that yet.
func (t *Table) Observe(uid types.UID, o Observed, now time.Time, pod func(ClaimsFrom) Pod) (Termination, Progress) {
	r := t.record(uid)
	defer t.drop(uid, r)
	if o.Known && !o.Requested {
		r.ran = o.Incarnation
	} else if !o.Started {
		r.ran = 0 // It has to end, and has not begun: what begins now is its end.
	}
	one, known := Termination{}, r.current.state == Terminating
	if known {
		one = *r.current.end
	}
	switch {
	case o.Requested && !o.Terminated && r.mayRun(&o):
		if !one.worker || one.incarnation != o.Incarnation {
			if from := o.claimsFrom(); from != FromNothing || one.Pod.Pod == nil {
				one.Pod = pod(from)
			}
			one.worker, one.incarnation, one.Since = true, o.Incarnation, now
		}
	case o.Known, one.worker, !o.Seen, o.Active:
		t.ended(uid, r)
		if o.Terminated || one.worker && !o.Known {
			return one, Ended
		}
		return one, NotEnding
	case !known:
		one = Termination{Pod: pod(FromRuntime), Since: now}
	}
	one.Until = o.until(one.Since)
	t.end(uid, r, one)
	return one, Ending
}

// end counts a pod that has to end. The pod that its UID had so far becomes its successor; if that is
// the same pod, the caller tells the table by Leave.
func (t *Table) end(uid types.UID, r *record, one Termination) {
	if r.current.state != Terminating {
		r.successor, r.current = r.current, incarnation{}
	}
	r.current.state, r.current.end = Terminating, &one
	t.ending.put(one.Pod)
	t.change()
	t.touch(uid, inEnding)
}

// ended counts a pod no more that was ending: nothing of it runs any more, or it stays after all.
func (t *Table) ended(uid types.UID, r *record) {
	if r.current.state != Terminating {
		return
	}
	r.current, r.successor = r.successor, incarnation{}
	t.ending.remove(uid)
	t.change()
	t.touch(uid, inEnding)
}

// Terminating returns a pod that has to end and may still run.
func (t *Table) Terminating(uid types.UID) (Termination, bool) {
	r := t.records[uid]
	if r == nil || r.current.state != Terminating {
		return Termination{}, false
	}
	return *r.current.end, true
}

// Forget forgets what has run under a UID that is not desired and has no worker.
func (t *Table) Forget(uid types.UID) {
	if r := t.records[uid]; r != nil {
		r.ran = 0
		t.drop(uid, r)
	}
}

// mayRun reports whether something of a pod that has to end may run. Nothing does if it was rejected,
// or ended before its worker had begun.
func (r *record) mayRun(o *Observed) bool {
	return o.Seen || !o.HasConfig || o.Started && r.ran == o.Incarnation
}

// claimsFrom is what shows the claims of a pod that begins to end.
func (o *Observed) claimsFrom() ClaimsFrom {
	switch {
	case o.Given && o.HasConfig:
		return FromWorker
	case o.Seen:
		return FromRuntime
	}
	return FromNothing
}

// until is when a pod should have ended that has begun to end then.
func (o *Observed) until(since time.Time) time.Time {
	if !o.AloneUntil.IsZero() {
		since = o.AloneUntil
	}
	if o.Grace == 0 {
		return since.Add(defaultGrace)
	}
	return since.Add(o.Grace)
}
