package status

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podmanager/status/internal/outbox"
	"github.com/podkeel/podkeel/podmanager/status/reconcile"
)

// holdBackEnd takes the end out of a status as long as something of the pod may run, and
// reports whether it did. What the sink was told to be over stays so. [ST-17]
func (s *Sender) holdBackEnd(u *Update, known told) bool {
	if u.Removed || u.Finished || !podstatus.IsTerminal(u.Status.Phase) || s.cfg.CouldRun == nil || !s.cfg.CouldRun(u.UID) {
		return false
	}
	var before v1.PodStatus
	switch {
	case known.version > 0 && known.epoch == u.StatusEpoch:
		before.Phase, before.Reason, before.Message = known.phase, known.reason, known.message
	case u.Pod != nil: // A store of somebody else may not say.
		before.Phase, before.Reason, before.Message = u.Pod.Status.Phase, u.Pod.Status.Reason, u.Pod.Status.Message
	}
	switch {
	case podstatus.IsTerminal(before.Phase):
		return false
	case before.Phase == "":
		before.Phase = v1.PodPending
	}
	u.Status = *u.Status.DeepCopy()
	reconcile.HoldBackTerminalPhase(&before, &u.Status)
	return true
}

// postpone puts off, or drops, a status that is not to be sent now, and reports whether it did.
// stored is the status with its end, held whether that was taken out of u, and draining whether the
// sender ended before that was asked; waitLocked asks again, as the sender may have ended since.
func (s *Sender) postpone(u Update, known told, stored v1.PodStatus, held, draining bool) bool {
	decision, until, deadline := outbox.Facts{
		Held: held, Reported: known.version == u.Version && known.epoch == u.StatusEpoch,
		Stopping: s.cfg.CouldRun != nil && !u.Finished && outbox.Stopping(u.Pod, &stored),
		Resend:   known.again, Draining: draining, Epoch: u.StatusEpoch, Deadline: known.deadline,
	}.Decide(s.executor.Now())
	if decision == outbox.Send {
		return false
	}
	u.Status = stored
	s.finish(u.UID, func(b *outbox.Box[Update], now time.Time) {
		if decision == outbox.Drop {
			b.Sent(u.UID)
			return
		}
		s.toldLocked(u.UID).deadline = deadline
		s.waitLocked(u, now, until)
	})
	return true
}

// waitLocked has a pod wait until a time, unless there is news of it. When the sender ends nothing
// waits.
func (s *Sender) waitLocked(u Update, now, until time.Time) {
	if s.draining.Load() {
		until = now
	}
	s.mu.box.Hold(u.UID, u, until)
}
