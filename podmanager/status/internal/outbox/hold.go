package outbox

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

const (
	// RecheckPeriod is how often it is asked whether a pod whose end is held back could still run.
	RecheckPeriod = time.Second
	// stopPeriod is how long the node has to finish with a pod of which no container runs any more
	// before anything is sent of that. Mostly it has by then, and one status tells all.
	stopPeriod = 100 * time.Millisecond
)

// Decision is what becomes of a status that is next to be sent.
type Decision string

const (
	// Send says that it is sent now.
	Send Decision = "send"
	// Wait says that it waits for something newer, at most until a time.
	Wait Decision = "wait"
	// Drop says that all that may be told was sent before.
	Drop Decision = "drop"
)

// Deadline is until when the end of a pod waits for the node to finish with it. There is one in
// each status epoch.
type Deadline struct {
	Epoch uint64
	At    time.Time
}

// Facts are what is known of a status that is next to be sent.
type Facts struct {
	Held     bool     // it has no end, as containers of the pod could run
	Reported bool     // the same version was sent before, or refused
	Resend   bool     // it is to be sent although nothing is newer
	Stopping bool     // no container runs, and the node has not finished with the pod
	Draining bool     // the sender ends
	Epoch    uint64   // the status epoch
	Deadline Deadline // the last one of the pod
}

// Decide decides whether a status is sent now. Wait comes with the time until when, and with the
// Deadline that the pod has from then on; the others with the Deadline as it was.
func (f Facts) Decide(now time.Time) (d Decision, until time.Time, deadline Deadline) {
	told := f.Held && f.Reported
	switch {
	case f.Resend:
	case told && f.Draining:
		return Drop, time.Time{}, f.Deadline
	case told:
		return Wait, now.Add(RecheckPeriod), f.Deadline
	case f.Stopping && !f.Draining:
		if next := f.next(now); next.At.After(now) {
			return Wait, next.At, next
		}
	}
	return Send, time.Time{}, f.Deadline
}

// next is the deadline of this epoch: that which is known, or one that begins now. When the clock
// was set back a pod waits at most for the whole period from then.
func (f Facts) next(now time.Time) Deadline {
	at := now.Add(stopPeriod)
	if d := f.Deadline; !d.At.IsZero() && d.Epoch == f.Epoch && d.At.Before(at) {
		return d
	}
	return Deadline{Epoch: f.Epoch, At: at}
}

// Stopping reports whether a pod is over or deleted, and has containers of which none runs. pod is
// nil where a store does not say which it was.
func Stopping(pod *v1.Pod, status *v1.PodStatus) bool {
	if !podstatus.IsTerminal(status.Phase) && (pod == nil || pod.DeletionTimestamp == nil) {
		return false
	}
	runs := func(c v1.ContainerStatus) bool { return c.State.Running != nil }
	return len(status.ContainerStatuses) > 0 && !slices.ContainsFunc(status.ContainerStatuses, runs) &&
		!slices.ContainsFunc(status.InitContainerStatuses, runs) && !slices.ContainsFunc(status.EphemeralContainerStatuses, runs)
}
