package status

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/status/internal/outbox"
)

// Resend sends the newest status of a pod although the sink was sent it: another writer has
// changed it there, or a pod that the sink did not have is there now. It returns at once and
// may be called at any time. The first repeat goes at once, others at least ten seconds after
// the one before; a newer status does not wait for that. When the context of Run ends a repeat
// that waits goes at once, and one that is asked for later and would have to wait is not made.
// Resend does nothing for a pod without a status.
func (s *Sender) Resend(uid types.UID) { s.ask(uid, false) }

// ResendNow is Resend that goes at once: the sink has a pod now that was sent no status, such
// as a new mirror pod. It returns at once and may be called at any time.
func (s *Sender) ResendNow(uid types.UID) { s.ask(uid, true) }

func (s *Sender) ask(uid types.UID, now bool) {
	s.mu.Lock()
	s.mu.resend[uid] = s.mu.resend[uid] || now
	s.mu.Unlock()
	s.wake.Signal()
}

// RetryNow ends all waits after failures: the destination answers again. It returns at once
// and may be called at any time.
func (s *Sender) RetryNow() {
	now := s.executor.Now()
	s.mu.Lock()
	s.retryLocked(now, 0)
	s.mu.Unlock()
	s.wake.Signal()
}

// retryLocked ends all waits after failures, as if none had failed but so many outages.
func (s *Sender) retryLocked(now time.Time, outages int) {
	s.mu.outages, s.mu.resumes = outages, time.Time{}
	for _, t := range s.mu.told {
		t.failures = 0
	}
	s.mu.box.WakeFailed(now)
}

// resend puts into the box what Resend has asked for. A new subscription has the newest
// status of every pod.
func (s *Sender) resend() {
	now, asked := s.executor.Now(), s.asked()
	if len(asked) == 0 {
		return
	}
	sub := s.cfg.Store.Subscribe(func() {})
	defer sub.Close()
	for _, u := range sub.TakeAll(nil) {
		if atOnce, ok := asked[u.UID]; ok && !u.Removed {
			s.again(u, now, atOnce)
		}
	}
}

// asked takes the pods that Resend and, with true, ResendNow have named.
func (s *Sender) asked() map[types.UID]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.mu.resend
	s.mu.resend = map[types.UID]bool{}
	return asked
}

// again sends an update now, or when the period since the last repeat is over. One that
// waits for that already stays as it is, unless it is to go at once. When the sender ends a
// repeat that would have to wait is dropped.
func (s *Sender) again(u Update, now time.Time, atOnce bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.toldLocked(u.UID)
	at, next, ok := outbox.Repeat{Asked: t.again, AtOnce: atOnce, Draining: s.draining.Load(), Next: t.repeat}.Decide(now)
	if !ok {
		return
	}
	t.again, t.repeat = true, next
	s.mu.box.Again(u.UID, u, at)
}
