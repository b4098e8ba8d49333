package podworkers

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Step is the activity of a pod's worker.
type Step uint8

// The steps of a worker.
const (
	// Idle: the worker waits for an update, a retry or the resync.
	Idle Step = iota
	// AwaitingStatus: the worker waits for a fresh observation of the pod.
	AwaitingStatus
	// AwaitingSlot: the worker waits for a slot of Config.MaxSyncs or MaxTerminations.
	AwaitingSlot
	// Working: the worker calls the syncer.
	Working
)

// String returns the step in words.
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

// Outlook is the activity of a pod's worker and the time of its next sync, for display.
type Outlook struct {
	// Step is the present activity.
	Step Step
	// NextAt is when the pod is synced next, unless an update arrives earlier; zero: never. It may
	// be in the past.
	NextAt time.Time
}

// Outlook returns the activity of a pod's worker and the time of its next sync. It returns the zero
// value for an unknown pod. See View for the state of the pod.
func (w *Workers) Outlook(uid types.UID) Outlook {
	o, broken := w.outlookAndQueueState(uid)
	if broken {
		w.wake.Signal()
	}
	return o
}

// outlookAndQueueState returns the step of the pod's running job and the time of its next sync, and whether the
// work queue has failed. For an unknown pod it returns zero values and false.
func (w *Workers) outlookAndQueueState(uid types.UID) (o Outlook, queueFailed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ref, ok := w.mu.table.Find(uid)
	if !ok {
		return o, false
	}
	if j := w.mu.records.recordAtOrAllocate(ref).running; j != nil {
		o.Step = Step(j.step.Load())
	}
	o.NextAt, _ = w.mu.queue.Due(uid)
	return o, w.mu.queue.err != nil
}
