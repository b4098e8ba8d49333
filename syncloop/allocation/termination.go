package allocation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// defaultGrace is the grace period of a pod whose own is not known.
const defaultGrace = 30 * time.Second

// Worker is the state of a pod's worker. The zero Worker is none.
type Worker struct {
	// Known: there is one.
	Known bool
	// Incarnation is the incarnation of the pod's UID.
	Incarnation uint64
	// Started: the worker has done something for the pod. Requested: the pod has to end. Terminated: its
	// containers have stopped.
	Started, TerminationRequested, Terminated bool
	// HasConfig is false for a pod that only the runtime knows.
	HasConfig bool
}

// Observed is what the workers, the runtime and the sources show of one pod now.
type Observed struct {
	Worker
	// Seen: the runtime has shown last that the pod may run.
	Seen bool
	// Given: the worker was given the spec of the pod.
	Given bool
	// Active: the pod is desired, and its status is not terminal. The table reads Active for a pod that is
	// Seen and has no worker.
	Active bool
	// Grace is the grace period of the termination; 0: it is not known.
	Grace time.Duration
	// OrphanGraceEnd is when the termination of a pod begins that is left alone because its manifest may be
	// late; zero: the pod is not left alone.
	OrphanGraceEnd time.Time
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
	// Pod has the claims that count until its containers have stopped.
	Pod Pod
	// Since is when the termination began. Until is when it should have ended.
	Since, Until time.Time

	hadWorker   bool // it had one
	incarnation uint64
}

// Progress is the progress of a termination.
type Progress uint8

// The kinds of progress.
const (
	// NotTerminating: the pod does not have to end, or has never started.
	NotTerminating Progress = iota
	// StillTerminating: the pod has to end and may still run.
	StillTerminating
	// HasTerminated: the pod does not run any more, whatever the runtime has shown before.
	HasTerminated
)

// Observe updates whether a pod has to end and may still run. Such a pod has left the configuration, is being
// deleted or evicted, was rejected although it ran, or is known to the runtime only. Its claims count until its
// containers have stopped, and the newest pod of its UID is its successor. The table calls pod for the claims
// if it does not have them.
func (t *Table) Observe(uid types.UID, o Observed, now time.Time, pod func(ClaimsFrom) Pod) (Termination, Progress) {
	r := t.record(uid)
	defer t.dropIfEmpty(uid, r)
	if o.Known && !o.TerminationRequested {
		r.ran = o.Incarnation
	} else if !o.Started {
		r.ran = 0 // The pod has to end before its worker has started anything.
	}
	one, known := Termination{}, r.current.state == Terminating
	if known {
		one = *r.current.end
	}
	switch {
	case o.TerminationRequested && !o.Terminated && r.mayRun(&o):
		if !one.hadWorker || one.incarnation != o.Incarnation {
			if from := o.claimsFrom(); from != FromNothing || one.Pod.Pod == nil {
				one.Pod = pod(from)
			}
			one.hadWorker, one.incarnation, one.Since = true, o.Incarnation, now
		}
	case o.Known, one.hadWorker, !o.Seen, o.Active:
		t.finishTermination(uid, r)
		if o.Terminated || one.hadWorker && !o.Known {
			return one, HasTerminated
		}
		return one, NotTerminating
	case !known:
		one = Termination{Pod: pod(FromRuntime), Since: now}
	}
	one.Until = o.expectedEnd(one.Since)
	t.startTermination(uid, r, one)
	return one, StillTerminating
}

// startTermination counts a pod that has to end. The pod that its UID had so far becomes its successor; if that is
// the same pod, the caller tells the table by Leave.
func (t *Table) startTermination(uid types.UID, r *record, one Termination) {
	if r.current.state != Terminating {
		r.successor, r.current = r.current, incarnation{}
	}
	r.current.state, r.current.end = Terminating, &one
	t.terminating.put(one.Pod)
	t.invalidateAnswers()
	t.recordChange(uid, inTerminating)
}

// finishTermination stops counting a pod that was ending: it has stopped, or does not have to end after all.
func (t *Table) finishTermination(uid types.UID, r *record) {
	if r.current.state != Terminating {
		return
	}
	r.current, r.successor = r.successor, incarnation{}
	t.terminating.remove(uid)
	t.invalidateAnswers()
	t.recordChange(uid, inTerminating)
}

// Termination returns a pod that has to end and may still run.
func (t *Table) Termination(uid types.UID) (Termination, bool) {
	r := t.records[uid]
	if r == nil || r.current.state != Terminating {
		return Termination{}, false
	}
	return *r.current.end, true
}

// ForgetIncarnation drops which incarnation has run under a UID that is not desired and has no worker.
func (t *Table) ForgetIncarnation(uid types.UID) {
	if r := t.records[uid]; r != nil {
		r.ran = 0
		t.dropIfEmpty(uid, r)
	}
}

// mayRun reports whether a pod that has to end may run. It does not run if it was rejected, or ended before its
// worker had started anything.
func (r *record) mayRun(o *Observed) bool {
	return o.Seen || !o.HasConfig || o.Started && r.ran == o.Incarnation
}

// claimsFrom returns what shows the claims of a pod that begins to end.
func (o *Observed) claimsFrom() ClaimsFrom {
	switch {
	case o.Given && o.HasConfig:
		return FromWorker
	case o.Seen:
		return FromRuntime
	}
	return FromNothing
}

// expectedEnd returns when a termination that began at since should have ended.
func (o *Observed) expectedEnd(since time.Time) time.Time {
	if !o.OrphanGraceEnd.IsZero() {
		since = o.OrphanGraceEnd
	}
	if o.Grace == 0 {
		return since.Add(defaultGrace)
	}
	return since.Add(o.Grace)
}
