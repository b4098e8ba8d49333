package outbox

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

const (
	// RecheckPeriod is the time between two calls of CouldRun for a pod whose terminal phase is
	// held back.
	RecheckPeriod = time.Second
	// stopPeriod is how long a status without running containers waits until the node has finished
	// with the pod. Usually the node needs less, and one status shows everything.
	stopPeriod = 100 * time.Millisecond
)

// Decision says what to do with the next status to send.
type Decision string

const (
	// Send: send the status now.
	Send Decision = "send"
	// Wait: wait for a newer status, at most until a time.
	Wait Decision = "wait"
	// Drop: the sink has everything that may be sent.
	Drop Decision = "drop"
)

// Deadline is the end of the wait for a pod to be Finished. Each status epoch has one.
type Deadline struct {
	Epoch uint64
	At    time.Time
}

// Facts are the facts about the next status to send.
type Facts struct {
	// the terminal phase is held back, because containers of the pod could run
	Held     bool
	Reported bool // the same version was sent or rejected before
	Resend   bool // it is to be sent although nothing is newer
	// the pod is terminal or deleted, no container runs, and the pod is not Finished
	PodStopping bool
	Draining    bool     // the sender is stopping
	Epoch       uint64   // the status epoch
	Deadline    Deadline // the last one of the pod
}

// Decide decides whether a status is sent now. For Wait it returns the end of the wait and the new
// Deadline of the pod; otherwise the Deadline is unchanged.
func (f Facts) Decide(now time.Time) (d Decision, until time.Time, deadline Deadline) {
	heldReported := f.Held && f.Reported
	switch {
	case f.Resend:
	case heldReported && f.Draining:
		return Drop, time.Time{}, f.Deadline
	case heldReported:
		return Wait, now.Add(RecheckPeriod), f.Deadline
	case f.PodStopping && !f.Draining:
		if next := f.nextDeadline(now); next.At.After(now) {
			return Wait, next.At, next
		}
	}
	return Send, time.Time{}, f.Deadline
}

// nextDeadline returns until when a status waits for the pod to be finished. If the known deadline belongs to
// this status epoch (the life of the pod to which the status belongs), it returns that deadline. If not, it
// returns now plus stopPeriod. It never returns a later time than now plus stopPeriod, so that a clock that was
// set back cannot make the wait longer.
func (f Facts) nextDeadline(now time.Time) Deadline {
	at := now.Add(stopPeriod)
	if d := f.Deadline; !d.At.IsZero() && d.Epoch == f.Epoch && d.At.Before(at) {
		return d
	}
	return Deadline{Epoch: f.Epoch, At: at}
}

// IsPodStopping reports whether a pod is terminal or deleted, and none of its containers runs. pod is
// nil if the store does not provide it.
func IsPodStopping(pod *v1.Pod, status *v1.PodStatus) bool {
	if !podstatus.IsTerminal(status.Phase) && (pod == nil || pod.DeletionTimestamp == nil) {
		return false
	}
	runs := func(c v1.ContainerStatus) bool { return c.State.Running != nil }
	return len(status.ContainerStatuses) > 0 && !slices.ContainsFunc(status.ContainerStatuses, runs) &&
		!slices.ContainsFunc(status.InitContainerStatuses, runs) && !slices.ContainsFunc(status.EphemeralContainerStatuses, runs)
}
