package podworkers

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Step is what a pod's worker is doing.
type Step uint8

// The steps of a worker.
const (
	// Idle: it does nothing, and waits for an update or for its time.
	Idle Step = iota
	// AwaitingStatus: it waits for an observation that is fresh enough.
	AwaitingStatus
	// AwaitingSlot: it waits for one of Config.MaxSyncs or MaxTerminations.
	AwaitingSlot
	// Working: the syncer is being called.
	Working
)

// String is the step as people read it.
func (s Step) String() string {
	switch s {
	case AwaitingStatus:
		return "awaiting a status"
	case AwaitingSlot:
		return "awaiting a slot"
	case Working:
		return "working"
	}
	return "idle"
}

// Outlook says what a pod's worker does and when it syncs next, for display.
type Outlook struct {
	// Step is what it is doing now.
	Step Step
	// NextAt is when it syncs the pod without a request; zero: it does not. It may lie
	// in the past.
	NextAt time.Time
}

// Outlook returns what a pod's worker does and when it syncs next. It is the zero value
// for a pod that the workers do not know. View says how the pod is.
func (w *Workers) Outlook(uid types.UID) Outlook {
	o, broken := w.outlook(uid)
	if broken {
		w.wake.Signal()
	}
	return o
}

// outlook also tells whether the queue is broken.
func (w *Workers) outlook(uid types.UID) (o Outlook, broken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ref, ok := w.mu.table.Find(uid)
	if !ok {
		return o, false
	}
	if j := w.mu.records.at(ref).running; j != nil {
		o.Step = Step(j.step.Load())
	}
	o.NextAt, _ = w.mu.queue.Due(uid)
	return o, w.mu.queue.err != nil
}
