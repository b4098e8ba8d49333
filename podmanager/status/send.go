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

// queueUpdates queues the newest status of each pod.
func (s *Sender) queueUpdates(updates []Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range updates {
		s.queueUpdateLocked(u)
	}
}

// queueUpdateLocked queues an update, unless the sink has stored or refused that version with its
// terminal phase. The removal of a pod that was never sent is not queued either.
func (s *Sender) queueUpdateLocked(u Update) {
	known := s.mu.sent[u.UID]
	if u.Removed && known == nil && !s.mu.box.Has(u.UID) || !u.Removed && known != nil && !known.held && known.version == u.Version && known.epoch == u.StatusEpoch {
		return
	}
	s.mu.box.Put(u.UID, u, isUrgent(u, known))
}

// isUrgent reports whether an update is sent before others: the pod has reached a terminal phase,
// or its condition Ready has changed.
func isUrgent(u Update, known *sentState) bool {
	if u.Removed {
		return false
	}
	if known == nil {
		return podstatus.IsTerminal(u.Status.Phase) || readyCondition(&u.Status) == v1.ConditionTrue
	}
	return podstatus.IsTerminal(u.Status.Phase) && !podstatus.IsTerminal(known.phase) || readyCondition(&u.Status) != known.ready
}

// readyCondition returns the status of the condition Ready; empty if there is none.
func readyCondition(s *v1.PodStatus) v1.ConditionStatus {
	if c := podstatus.FindCondition(s.Conditions, v1.PodReady); c != nil {
		return c.Status
	}
	return ""
}

// takeNextUpdate returns the next update to send, if a worker is free.
func (s *Sender) takeNextUpdate(now time.Time) (Update, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isFullLocked() || now.Before(s.mu.outageEnd) {
		return Update{}, false
	}
	_, u, ok := s.mu.box.TakeNext(now)
	if ok {
		s.mu.busy++
	}
	return u, ok
}

// isFullLocked reports whether no worker is free. After an outage there is only one worker, until a
// send succeeds.
func (s *Sender) isFullLocked() bool {
	return s.mu.busy >= s.cfg.Workers || s.mu.outages > 0 && s.mu.busy > 0
}

// send sends one status to the sink and records the result.
func (s *Sender) send(ctx context.Context, u Update) {
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
	s.finishSend(u.UID, func(b *outbox.Box[Update], now time.Time) {
		s.mu.outages = 0
		s.recordSentLocked(&u, held)
		if u.Status = stored; held {
			s.holdUntilLocked(u, now, now.Add(outbox.RecheckPeriod))
			return
		}
		b.FinishSending(u.UID)
	})
	if refused {
		s.reportFailure(sent, err, 0)
		return
	}
	s.cfg.Hooks.Sent(sent, s.executor.Now().Sub(sent.Since))
}

// beginSend returns a copy of the state of a pod at the sink, and clears its resend request.
func (s *Sender) beginSend(uid types.UID) (known sentState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.mu.sent[uid]; t != nil {
		known, t.resendRequested = *t, false
	}
	return known
}

// callSink calls the sink once. A panic of the sink becomes an error.
func (s *Sender) callSink(ctx context.Context, u Update) (err error) {
	ctx, cancel := s.executor.WithDeadline(ctx, s.executor.Now().Add(s.cfg.Timeout))
	defer cancel()
	defer s.guard.Recover("Sink.Send", &err)
	return s.cfg.Sink.Send(ctx, u)
}

// rescheduleFailed delays the next send of a pod after an error of the sink. After Unavailable it
// delays all pods. isResend: the failed send was a repeat, so the next one is a repeat too.
func (s *Sender) rescheduleFailed(u Update, err error, isResend bool) {
	if errors.Is(err, ErrNotYet) {
		s.finishSend(u.UID, func(b *outbox.Box[Update], _ time.Time) {
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
	s.finishSend(u.UID, func(b *outbox.Box[Update], now time.Time) {
		if isResend {
			s.getOrAddSentLocked(u.UID).resendRequested = true
		}
		if d.all {
			s.beginOutageLocked(now.Add(pause), now.Add(d.after))
			b.RetryAt(u.UID, u, now, now)
			return
		}
		s.getOrAddSentLocked(u.UID).failures++
		b.RetryAt(u.UID, u, now.Add(pause), now.Add(max(first, d.after)))
	})
	s.reportFailure(u, err, pause)
}

// failuresInRow returns the number of failures in a row, including this one: of one pod, or of the
// sink if all is true.
func (s *Sender) failuresInRow(uid types.UID, all bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all {
		return s.mu.outages + 1
	}
	return s.getOrAddSentLocked(uid).failures + 1
}

// beginOutageLocked stops all sends until a time. A call that was in progress when the pause began
// does not make the next pause longer.
func (s *Sender) beginOutageLocked(until, asked time.Time) {
	if s.executor.Now().Before(s.mu.outageEnd) {
		until = asked
	} else {
		s.mu.outages++
	}
	if until.After(s.mu.outageEnd) {
		s.mu.outageEnd = until
	}
}

// reportFailure logs a failed send and calls the hook. A pause of zero means that this status is
// not sent again.
func (s *Sender) reportFailure(u Update, err error, pause time.Duration) {
	s.cfg.Log.Warn("pod status not sent", "uid", u.UID, "version", u.Version, "retry", pause, "err", err)
	s.cfg.Hooks.Failed(u, err, pause)
}

// finishSend frees the worker and calls update under the lock.
func (s *Sender) finishSend(uid types.UID, update func(b *outbox.Box[Update], now time.Time)) {
	now := s.executor.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.busy--
	update(s.mu.box, now)
}

// recordSentLocked records the status that the sink has stored or refused.
func (s *Sender) recordSentLocked(u *Update, held bool) {
	if u.Removed {
		delete(s.mu.sent, u.UID)
		return
	}
	t := s.getOrAddSentLocked(u.UID)
	*t = sentState{
		resendRequested: t.resendRequested, nextResend: t.nextResend, deadline: t.deadline, version: u.Version, epoch: u.StatusEpoch, ready: readyCondition(&u.Status), held: held,
		phase: u.Status.Phase, reason: u.Status.Reason, message: u.Status.Message,
	}
}

// getOrAddSentLocked returns the state of a pod at the sink, and creates it if necessary.
func (s *Sender) getOrAddSentLocked(uid types.UID) *sentState {
	t := s.mu.sent[uid]
	if t == nil {
		t = &sentState{}
		s.mu.sent[uid] = t
	}
	return t
}
