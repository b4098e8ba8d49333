package status

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podmanager/status/internal/outbox"
	"github.com/podkeel/podkeel/podmanager/status/reconcile"
)

// holdBackTerminalPhase replaces a terminal phase in an update by an earlier phase and returns true, as long as
// Config.CouldRun says that containers of the pod could run. The earlier phase is the phase that was sent last
// in this status epoch (the life of the pod to which the status belongs). If none was sent, it is the phase in
// the pod object. If that phase is terminal too, or the pod is finished or removed, it changes nothing and
// returns false (ST-17).
func (s *Sender) holdBackTerminalPhase(u *Update, known sentState) (held bool) {
	if u.Removed || u.Finished || !podstatus.IsTerminal(u.Status.Phase) || s.cfg.CouldRun == nil || !s.cfg.CouldRun(u.UID) {
		return false
	}
	var before v1.PodStatus
	switch {
	case known.version > 0 && known.epoch == u.StatusEpoch:
		before.Phase, before.Reason, before.Message = known.phase, known.reason, known.message
	case u.Pod != nil: // Another implementation of Statuses may leave Pod nil.
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

// postponeOrDrop delays or drops a status that must not be sent now, frees the worker and returns true. It
// returns false if the status must be sent now. stored is the stored status of the pod with its terminal phase.
// held is true if u does not show that phase. draining is the value from before the call of CouldRun.
func (s *Sender) postponeOrDrop(u Update, known sentState, stored v1.PodStatus, held, draining bool) (notSent bool) {
	decision, until, deadline := outbox.Facts{
		Held: held, Reported: known.version == u.Version && known.epoch == u.StatusEpoch,
		PodStopping: s.cfg.CouldRun != nil && !u.Finished && outbox.IsPodStopping(u.Pod, &stored),
		Resend:      known.resendRequested, Draining: draining, Epoch: u.StatusEpoch, Deadline: known.deadline,
	}.Decide(s.executor.Now())
	if decision == outbox.Send {
		return false
	}
	u.Status = stored
	s.freeWorkerAndUpdate(u.UID, func(b *outbox.Box[Update], now time.Time) {
		if decision == outbox.Drop {
			b.FinishSending(u.UID)
			return
		}
		s.getOrAddSentLocked(u.UID).deadline = deadline
		s.holdUntilLocked(u, now, until)
	})
	return true
}

// holdUntilLocked delays the next send of a pod's status until a time. A newer status ends the delay. A sender
// that is stopping does not delay the status.
func (s *Sender) holdUntilLocked(u Update, now, until time.Time) {
	if s.draining.Load() {
		until = now
	}
	s.mu.box.HoldUntil(u.UID, u, until)
}
