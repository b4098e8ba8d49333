package allocation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Worker is the state of a pod's worker. The zero value means that the pod has no worker.
type Worker struct {
	// HasWorker: the pod has a worker.
	HasWorker bool
	// Incarnation is the number of the incarnation of the pod's UID.
	Incarnation uint64
	// Started: the worker has called the PodSyncer for the pod. TerminationRequested: the pod is terminating.
	// Terminated: its containers have stopped.
	Started, TerminationRequested, Terminated bool
	// HasConfig is false for a pod that only the runtime has.
	HasConfig bool
}

// Observed is what the workers, the runtime and the sources show of one pod now.
type Observed struct {
	Worker
	// Seen: the last listing of the runtime shows that the pod may run.
	Seen bool
	// Given: the worker has received the spec of the pod.
	Given bool
	// Active: the pod is desired and its status is not terminal. The table uses Active for a pod that is Seen
	// and has no worker.
	Active bool
	// Grace is the grace period of the termination, or a default if it is not known.
	Grace time.Duration
	// OrphanGraceEnd is when the kill of a pod of an earlier agent begins unless its manifest arrives; zero:
	// the kill is not deferred.
	OrphanGraceEnd time.Time
}

// ClaimsFrom is the origin of the claims of a terminating pod.
type ClaimsFrom uint8

// The kinds of ClaimsFrom.
const (
	// FromNothing: only the UID is known.
	FromNothing ClaimsFrom = iota
	// FromWorker: the claims of the spec that the worker has received.
	FromWorker
	// FromRuntime: the claims that the records of the runtime have.
	FromRuntime
)

// Termination is a terminating pod that may still run.
type Termination struct {
	// Pod has the claims that count until its containers have stopped.
	Pod Pod
	// Since is when the termination began. Until is when its grace period is over.
	Since, Until time.Time

	hadWorker   bool // the pod had a worker
	incarnation uint64
}

// Progress is the progress of a termination.
type Progress uint8

// The kinds of progress.
const (
	// NotTerminating: the pod is not terminating, or has never started. An orphan that the runtime no longer
	// lists is NotTerminating too.
	NotTerminating Progress = iota
	// StillTerminating: the pod is terminating and may still run.
	StillTerminating
	// HasTerminated: the worker reports that the containers have stopped, or the worker of a terminating pod
	// is gone. The last listing of the runtime does not count.
	HasTerminated
)

// Observe updates the termination of a pod. A pod terminates while TerminationRequested is true, Terminated is
// false and its containers may run. An orphan terminates too: it is Seen, and has no worker and is not Active.
// The claims of a terminating pod count until its containers have stopped. During that time the newest pod of
// its UID is its successor. Observe calls podWithClaims if the table does not have the claims.
func (t *Table) Observe(uid types.UID, o Observed, now time.Time, podWithClaims func(ClaimsFrom) Pod) (Termination, Progress) {
	r := t.ensureRecord(uid)
	defer t.dropIfEmpty(uid, r)
	if o.HasWorker && !o.TerminationRequested {
		r.activeIncarnation = o.Incarnation
	} else if !o.Started {
		r.activeIncarnation = 0 // The pod terminates before its worker has started anything.
	}
	termination, wasTerminating := Termination{}, r.current.state == Terminating
	if wasTerminating {
		termination = *r.current.termination
	}
	switch {
	case o.TerminationRequested && !o.Terminated && r.mayTerminatingPodRun(&o):
		if !termination.hadWorker || termination.incarnation != o.Incarnation {
			if from := o.claimsFrom(); from != FromNothing || termination.Pod.Pod == nil {
				termination.Pod = podWithClaims(from)
			}
			termination.hadWorker, termination.incarnation, termination.Since = true, o.Incarnation, now
		}
	case o.HasWorker, termination.hadWorker, !o.Seen, o.Active:
		t.finishTermination(uid, r)
		if o.Terminated || termination.hadWorker && !o.HasWorker {
			return termination, HasTerminated
		}
		return termination, NotTerminating
	case !wasTerminating:
		termination = Termination{Pod: podWithClaims(FromRuntime), Since: now}
	}
	termination.Until = o.expectedEnd(termination.Since)
	t.startTermination(uid, r, termination)
	return termination, StillTerminating
}

// startTermination stores that a pod of the UID terminates, and counts its claims as terminating. If the record
// had another pod, that pod becomes the successor. If the record had the same pod, the pod counts twice until
// the caller calls Remove.
func (t *Table) startTermination(uid types.UID, r *record, termination Termination) {
	if r.current.state != Terminating {
		r.current.resize = nil // A terminating pod is not resized.
		r.successor, r.current = r.current, incarnation{}
	}
	r.current.state, r.current.termination = Terminating, &termination
	t.terminating.putPod(termination.Pod)
	t.invalidateAnswersAndRequestReview()
	t.recordChangeForUsage(uid, inTerminating)
}

// finishTermination stops counting a pod as terminating, because it has stopped or does not terminate after
// all. Its successor, if any, becomes the current pod. It does nothing if no pod of the UID terminates.
func (t *Table) finishTermination(uid types.UID, r *record) {
	if r.current.state != Terminating {
		return
	}
	r.current, r.successor = r.successor, incarnation{}
	t.terminating.removePod(uid)
	t.invalidateAnswersAndRequestReview()
	t.recordChangeForUsage(uid, inTerminating)
}

// Termination returns a terminating pod that may still run, and false if there is none.
func (t *Table) Termination(uid types.UID) (Termination, bool) {
	r := t.records[uid]
	if r == nil || r.current.state != Terminating {
		return Termination{}, false
	}
	return *r.current.termination, true
}

// ForgetIncarnation clears the incarnation that may have run under a UID. The UID is not desired and has no worker.
func (t *Table) ForgetIncarnation(uid types.UID) {
	if r := t.records[uid]; r != nil {
		r.activeIncarnation = 0
		t.dropIfEmpty(uid, r)
	}
}

// mayTerminatingPodRun reports whether a terminating pod may still have containers: the runtime shows it, its
// worker has no spec of it, or that worker has started it. It returns false for a pod that was terminated
// before its worker had started anything.
func (r *record) mayTerminatingPodRun(o *Observed) bool {
	return o.Seen || !o.HasConfig || o.Started && r.activeIncarnation == o.Incarnation
}

// claimsFrom returns where the claims of a terminating pod are read from: from the spec that its worker has,
// from the sandbox annotation if only the runtime has the pod, or from nowhere.
func (o *Observed) claimsFrom() ClaimsFrom {
	switch {
	case o.Given && o.HasConfig:
		return FromWorker
	case o.Seen:
		return FromRuntime
	}
	return FromNothing
}

// expectedEnd returns the end of the grace period of a termination that began at since. An orphan whose kill is
// deferred begins at OrphanGraceEnd instead. A grace period of 0 counts as defaultGrace.
func (o *Observed) expectedEnd(since time.Time) time.Time {
	if !o.OrphanGraceEnd.IsZero() {
		since = o.OrphanGraceEnd
	}
	return since.Add(o.Grace)
}
