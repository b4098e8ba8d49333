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

// put notes what is newest of each pod, if the sink does not know that already.
func (s *Sender) put(updates []Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range updates {
		s.putLocked(u)
	}
}

func (s *Sender) putLocked(u Update) {
	known := s.mu.told[u.UID]
	if u.Removed && known == nil && !s.mu.box.Has(u.UID) || !u.Removed && known != nil && !known.held && known.version == u.Version && known.epoch == u.StatusEpoch {
		return
	}
	s.mu.box.Put(u.UID, u, urgent(u, known))
}

// urgent reports whether others wait for this: the end of a pod, or that it has
// become ready or ceased to be.
func urgent(u Update, known *told) bool {
	if u.Removed {
		return false
	}
	if known == nil {
		return podstatus.IsTerminal(u.Status.Phase) || readiness(&u.Status) == v1.ConditionTrue
	}
	return podstatus.IsTerminal(u.Status.Phase) && !podstatus.IsTerminal(known.phase) || readiness(&u.Status) != known.ready
}

func readiness(s *v1.PodStatus) v1.ConditionStatus {
	if c := podstatus.FindCondition(s.Conditions, v1.PodReady); c != nil {
		return c.Status
	}
	return ""
}

// take is what is to be sent next, if a worker is free for it.
func (s *Sender) take(now time.Time) (Update, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fullLocked() || now.Before(s.mu.resumes) {
		return Update{}, false
	}
	_, u, ok := s.mu.box.Take(now)
	if ok {
		s.mu.busy++
	}
	return u, ok
}

// fullLocked reports whether no worker is free. After an outage there is only one, until a
// status has arrived.
func (s *Sender) fullLocked() bool {
	return s.mu.busy >= s.cfg.Workers || s.mu.outages > 0 && s.mu.busy > 0
}

// send brings one status to the sink, and notes how that went.
func (s *Sender) send(ctx context.Context, u Update) {
	stored := u.Status // As it is, if its end is held back.
	known := s.begin(u.UID)
	draining := s.draining.Load() // Before CouldRun is asked: no older answer may drop an end.
	held := s.holdBackEnd(&u, known)
	if s.postpone(u, known, stored, held, draining) {
		return
	}
	err := s.call(ctx, u)
	refused := errors.Is(err, ErrRefused)
	if err != nil && !refused {
		u.Status = stored
		s.failed(u, err, known.again)
		return
	}
	sent := u
	s.finish(u.UID, func(b *outbox.Box[Update], now time.Time) {
		s.mu.outages = 0
		s.noteLocked(&u, held)
		if u.Status = stored; held {
			s.waitLocked(u, now, now.Add(outbox.RecheckPeriod))
			return
		}
		b.Sent(u.UID)
	})
	if refused {
		s.tell(sent, err, 0)
		return
	}
	s.cfg.Hooks.Sent(sent, s.executor.Now().Sub(sent.Since))
}

// begin is a copy of what the sink knows of a pod, which is now sent.
func (s *Sender) begin(uid types.UID) (known told) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.mu.told[uid]; t != nil {
		known, t.again = *t, false
	}
	return known
}

// call is one call of the sink. A panic of it is an error like any other.
func (s *Sender) call(ctx context.Context, u Update) (err error) {
	ctx, cancel := s.executor.WithDeadline(ctx, s.executor.Now().Add(s.cfg.Timeout))
	defer cancel()
	defer s.guard.Recover("Sink.Send", &err)
	return s.cfg.Sink.Send(ctx, u)
}

// failed puts a pod off after an error, or all of them. again: it was a repeat, and still is one.
func (s *Sender) failed(u Update, err error, again bool) {
	if errors.Is(err, ErrNotYet) {
		s.finish(u.UID, func(b *outbox.Box[Update], _ time.Time) {
			if u.Removed {
				delete(s.mu.told, u.UID)
			} else {
				s.toldLocked(u.UID).repeat = time.Time{}
			}
			b.Sent(u.UID)
		})
		return
	}
	var d delayed
	if asked := (*delayed)(nil); errors.As(err, &asked) {
		d = *asked
	}
	pauses, first := s.pauses(u.UID, d.all), s.cfg.Retry(1)
	pause := max(s.cfg.Retry(pauses), d.after)
	s.finish(u.UID, func(b *outbox.Box[Update], now time.Time) {
		if again {
			s.toldLocked(u.UID).again = true
		}
		if d.all {
			s.outageLocked(now.Add(pause), now.Add(d.after))
			b.PutOff(u.UID, u, now, now)
			return
		}
		s.toldLocked(u.UID).failures++
		b.PutOff(u.UID, u, now.Add(pause), now.Add(max(first, d.after)))
	})
	s.tell(u, err, pause)
}

// pauses is the number of failures in a row, of a pod or of all, this one included.
func (s *Sender) pauses(uid types.UID, all bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all {
		return s.mu.outages + 1
	}
	return s.toldLocked(uid).failures + 1
}

// outageLocked pauses all sending. Calls that were under way when the pause began do not
// make the next one longer.
func (s *Sender) outageLocked(until, asked time.Time) {
	if s.executor.Now().Before(s.mu.resumes) {
		until = asked
	} else {
		s.mu.outages++
	}
	if until.After(s.mu.resumes) {
		s.mu.resumes = until
	}
}

// tell reports a failure. A pause of zero means that this status is not sent again.
func (s *Sender) tell(u Update, err error, pause time.Duration) {
	s.cfg.Log.Warn("pod status not sent", "uid", u.UID, "version", u.Version, "retry", pause, "err", err)
	s.cfg.Hooks.Failed(u, err, pause)
}

// finish ends a sending under the lock.
func (s *Sender) finish(uid types.UID, f func(b *outbox.Box[Update], now time.Time)) {
	now := s.executor.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.busy--
	f(s.mu.box, now)
}

// noteLocked remembers what the sink was told.
func (s *Sender) noteLocked(u *Update, held bool) {
	if u.Removed {
		delete(s.mu.told, u.UID)
		return
	}
	t := s.toldLocked(u.UID)
	*t = told{
		again: t.again, repeat: t.repeat, deadline: t.deadline, version: u.Version, epoch: u.StatusEpoch, ready: readiness(&u.Status), held: held,
		phase: u.Status.Phase, reason: u.Status.Reason, message: u.Status.Message,
	}
}

func (s *Sender) toldLocked(uid types.UID) *told {
	t := s.mu.told[uid]
	if t == nil {
		t = &told{}
		s.mu.told[uid] = t
	}
	return t
}
