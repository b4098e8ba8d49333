package admission

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
	// Started: something was done for the pod. Requested: it has to end. Terminated: and
	// nothing of it runs any more.
	Started, Requested, Terminated bool
	// HasConfig is false for a pod that only the runtime knows.
	HasConfig bool
}

// Observed is what is known of one pod now.
type Observed struct {
	Worker
	// Seen: the runtime has shown it last as one that may run.
	Seen bool
	// Given: its worker was given a pod.
	Given bool
	// Active: it is desired, and its status does not say that it has ended. It is read of
	// a pod without a worker that was seen.
	Active bool
	// Grace is that of its end; 0: nothing is known of it.
	Grace time.Duration
	// AloneUntil is when the end of a pod begins that is left alone until then, for its
	// manifest may be late; zero: it is not.
	AloneUntil time.Time
}

// Origin says what tells what a pod takes that ends.
type Origin uint8

// The origins.
const (
	// FromNothing: only its UID is known.
	FromNothing Origin = iota
	// FromWorker is the pod that its worker was given.
	FromWorker
	// FromRuntime is the pod as the runtime has shown it last.
	FromRuntime
)

// Termination is a pod that may still run and has to end.
type Termination struct {
	// Item is what it takes until its containers have stopped.
	Item Item
	// Since is when it has begun to end, and Until when it should have ended.
	Since, Until time.Time

	worker      bool // it had one
	incarnation uint64
}

// Terminations are the pods that may still run and have to end: they have left the
// configuration, are being deleted or evicted, were refused though they ran, or are known
// to the runtime only. Until their containers have stopped they take what they take. Make
// one with NewTerminations.
type Terminations struct {
	pods map[types.UID]Termination
	// admitted are the incarnations of pods whose worker may have started something.
	admitted map[types.UID]uint64
}

// NewTerminations is for a node without pods.
func NewTerminations() Terminations {
	return Terminations{pods: make(map[types.UID]Termination), admitted: make(map[types.UID]uint64)}
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

// Update brings a pod up to date. item is asked what the pod takes when that is not known
// yet.
func (t *Terminations) Update(uid types.UID, o Observed, now time.Time, item func(Origin) Item) (Termination, Progress) {
	if o.Known && !o.Requested {
		t.admitted[uid] = o.Incarnation
	} else if !o.Started {
		delete(t.admitted, uid) // It has to end, and has not begun: what begins now is its end.
	}
	one, known := t.pods[uid]
	switch {
	case o.Requested && !o.Terminated && t.mayRun(uid, o):
		if !one.worker || one.incarnation != o.Incarnation {
			if from := o.origin(); from != FromNothing || one.Item.Pod == nil {
				one.Item = item(from)
			}
			one.worker, one.incarnation, one.Since = true, o.Incarnation, now
		}
	case o.Known, one.worker, !o.Seen, o.Active:
		delete(t.pods, uid)
		if o.Terminated || one.worker && !o.Known {
			return one, Ended
		}
		return one, NotEnding
	case !known:
		one = Termination{Item: item(FromRuntime), Since: now}
	}
	one.Until = o.until(one.Since)
	t.pods[uid] = one
	return one, Ending
}

// Forget forgets a pod that is not desired and has no worker.
func (t *Terminations) Forget(uid types.UID) { delete(t.admitted, uid) }

// mayRun: something of a pod that has to end may run. Nothing does if it was refused, or
// ended before its worker had begun.
func (t *Terminations) mayRun(uid types.UID, o Observed) bool {
	return o.Seen || !o.HasConfig || o.Started && t.admitted[uid] == o.Incarnation
}

// origin is what tells what a pod takes that begins to end.
func (o *Observed) origin() Origin {
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
