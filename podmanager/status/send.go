package status

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podmanager/status/internal/outbox"
)

// queueUpdates queues the given newest statuses of pods, each unless the sink has it (see
// queueUpdateUnlessSentLocked).
func (s *Sender) queueUpdates(updates []Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range updates {
		s.queueUpdateUnlessSentLocked(u)
	}
}

// queueUpdateUnlessSentLocked queues an update, unless the sink has stored or refused that version in full. A
// version whose terminal phase was held back is queued again. The removal of a pod is not queued if nothing of
// the pod was sent or queued.
func (s *Sender) queueUpdateUnlessSentLocked(u Update) {
	known := s.mu.sent[u.UID]
	if u.Removed && known == nil && !s.mu.box.Has(u.UID) || !u.Removed && known != nil && !known.held && known.version == u.Version && known.epoch == u.StatusEpoch {
		return
	}
	urgent := reachesTerminalOrChangesReady(u, known)
	if s.cfg.Delay > 0 && !u.Removed && !s.draining.Load() {
		s.mu.box.PutLater(u.UID, u, urgent, s.executor.Now().Add(s.cfg.Delay))
		return
	}
	s.mu.box.Put(u.UID, u, urgent)
}

// reachesTerminalOrChangesReady reports whether an update is urgent, so that it is sent before others. An
// update is urgent if the pod has now reached a terminal phase, or if its condition Ready differs from the
// status that was last sent. If no status was sent (known is nil), the phase must be terminal or Ready must be
// true. A removal is not urgent.
func reachesTerminalOrChangesReady(u Update, known *sentState) bool {
	if u.Removed {
		return false
	}
	if known == nil {
		return podstatus.IsTerminal(u.Status.Phase) || readyConditionStatus(&u.Status) == v1.ConditionTrue
	}
	return podstatus.IsTerminal(u.Status.Phase) && !podstatus.IsTerminal(known.phase) || readyConditionStatus(&u.Status) != known.ready
}

// readyConditionStatus returns the status of the condition Ready, or "" if there is no such condition.
func readyConditionStatus(s *v1.PodStatus) v1.ConditionStatus {
	if c := podstatus.FindCondition(s.Conditions, v1.PodReady); c != nil {
		return c.Status
	}
	return ""
}

// takeNextUpdateForWorker removes the next update to send from the queue, returns it and counts a worker as
// busy. It returns false if no worker is free, no update is due, or all sends pause after an outage of the
// sink.
func (s *Sender) takeNextUpdateForWorker(now time.Time) (next Update, taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasNoFreeWorkerLocked() || now.Before(s.mu.outageEnd) {
		return Update{}, false
	}
	_, u, ok := s.mu.box.TakeNext(now)
	if ok {
		s.mu.busy++
	}
	return u, ok
}

// hasNoFreeWorkerLocked reports whether all workers are busy. After an outage of the sink only one worker may
// be busy, until a send succeeds.
func (s *Sender) hasNoFreeWorkerLocked() bool {
	return s.mu.busy >= s.cfg.Workers || s.mu.outages > 0 && s.mu.busy > 0
}

// sendOrPostpone sends one status to the sink, or postpones or drops it. It records a status that the sink has
// stored or refused. After ErrNotYet the status waits for a newer one or for Resend, and after any other error
// it is retried later. It calls the hook Sent or Failed, but neither of them for ErrNotYet.
func (s *Sender) sendOrPostpone(ctx context.Context, u Update) {
	stored := u.Status // With its terminal phase, also if that is held back.
	known := s.beginSend(u.UID)
	draining := s.draining.Load() // Read before CouldRun is called, so that an older result drops no terminal phase.
	held := s.holdBackTerminalPhase(&u, known)
	if s.postponeOrDrop(u, known, stored, held, draining) {
		return
	}
	err := s.callSink(ctx, u)
	refused := errors.Is(err, ErrRefused)
	if err != nil && !refused {
		u.Status = stored
		s.rescheduleFailed(u, err, known.resendRequested)
		return
	}
	sent := u
	s.freeWorkerAndUpdate(u.UID, func(b *outbox.Box[Update], now time.Time) {
		s.mu.outages = 0
		s.recordSentOrDeleteRemovedLocked(&u, held)
		if u.Status = stored; held {
			s.holdUntilLocked(u, now, now.Add(outbox.RecheckPeriod))
			return
		}
		b.FinishSending(u.UID)
	})
	if refused {
		s.logAndReportFailure(sent, err, 0)
		return
	}
	s.cfg.Hooks.Sent(sent, s.executor.Now().Sub(sent.Since))
}

// beginSend returns a copy of the record of what the sink has of a pod, and clears the pod's resend request.
func (s *Sender) beginSend(uid types.UID) (known sentState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.mu.sent[uid]; t != nil {
		known, t.resendRequested = *t, false
	}
	return known
}

// callSink calls the sink once, with the configured timeout. A panic of the sink becomes an error.
func (s *Sender) callSink(ctx context.Context, u Update) (err error) {
	ctx, cancel := s.executor.WithDeadline(ctx, s.executor.Now().Add(s.cfg.Timeout))
	defer cancel()
	defer s.guard.Recover("Sink.Send", &err)
	return s.cfg.Sink.Send(ctx, u)
}

// rescheduleFailed handles an error of the sink for a status. It queues the status again with a growing delay,
// frees the worker and reports the failure. After Unavailable it delays the statuses of all pods. After
// ErrNotYet it queues and reports nothing, because the status waits for a newer status or for Resend. isResend
// says that the failed send was a repeat; the next send is then a repeat too.
func (s *Sender) rescheduleFailed(u Update, err error, isResend bool) {
	if errors.Is(err, ErrNotYet) {
		s.freeWorkerAndUpdate(u.UID, func(b *outbox.Box[Update], _ time.Time) {
			if u.Removed {
				delete(s.mu.sent, u.UID)
			} else {
				s.getOrAddSentLocked(u.UID).nextResend = time.Time{}
			}
			b.FinishSending(u.UID)
		})
		return
	}
	var d retryError
	if asked := (*retryError)(nil); errors.As(err, &asked) {
		d = *asked
	}
	pauses, first := s.failuresInRow(u.UID, d.all), s.cfg.Retry(1)
	pause := max(s.cfg.Retry(pauses), d.after)
	s.freeWorkerAndUpdate(u.UID, func(b *outbox.Box[Update], now time.Time) {
		if isResend {
			s.getOrAddSentLocked(u.UID).resendRequested = true
		}
		if d.all {
			s.beginOrExtendOutageLocked(now.Add(pause), now.Add(d.after))
			b.RetryAt(u.UID, u, now, now)
			return
		}
		s.getOrAddSentLocked(u.UID).failures++
		b.RetryAt(u.UID, u, now.Add(pause), now.Add(max(first, d.after)))
	})
	s.logAndReportFailure(u, err, pause)
}

// failuresInRow returns the number of failures in a row, including the present one, which is not counted yet.
// With all it returns the number of outages of the sink. Without all it returns the number for the pod.
func (s *Sender) failuresInRow(uid types.UID, all bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all {
		return s.mu.outages + 1
	}
	return s.getOrAddSentLocked(uid).failures + 1
}

// beginOrExtendOutageLocked pauses all sends until a time and counts an outage. If a pause is already in
// progress, it counts no outage. It then only extends the pause to the time that the sink asked for, and never
// shortens it.
func (s *Sender) beginOrExtendOutageLocked(until, asked time.Time) {
	if s.executor.Now().Before(s.mu.outageEnd) {
		until = asked
	} else {
		s.mu.outages++
	}
	if until.After(s.mu.outageEnd) {
		s.mu.outageEnd = until
	}
}

// logAndReportFailure logs a failed send and calls Hooks.Failed. A pause of zero means that this status is not
// sent again.
func (s *Sender) logAndReportFailure(u Update, err error, pause time.Duration) {
	s.cfg.Log.Warn("pod status not sent", "uid", u.UID, "version", u.Version, "retry", pause, "err", err)
	s.cfg.Hooks.Failed(u, err, pause)
}

// freeWorkerAndUpdate frees the worker and calls update, both under the lock.
func (s *Sender) freeWorkerAndUpdate(uid types.UID, update func(b *outbox.Box[Update], now time.Time)) {
	now := s.executor.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.busy--
	update(s.mu.box, now)
}

// recordSentOrDeleteRemovedLocked records the status that the sink has stored or refused, and resets the pod's
// failures. After a removal it deletes the record of the pod. held says that the status was sent without its
// terminal phase.
func (s *Sender) recordSentOrDeleteRemovedLocked(u *Update, held bool) {
	if u.Removed {
		delete(s.mu.sent, u.UID)
		return
	}
	t := s.getOrAddSentLocked(u.UID)
	*t = sentState{
		resendRequested: t.resendRequested, nextResend: t.nextResend, deadline: t.deadline, version: u.Version, epoch: u.StatusEpoch, ready: readyConditionStatus(&u.Status), held: held,
		phase: u.Status.Phase, reason: u.Status.Reason, message: u.Status.Message,
	}
}

// getOrAddSentLocked returns the record of what the sink has of a pod. It adds an empty record if there is
// none.
func (s *Sender) getOrAddSentLocked(uid types.UID) *sentState {
	t := s.mu.sent[uid]
	if t == nil {
		t = &sentState{}
		s.mu.sent[uid] = t
	}
	return t
}
