package status

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/status/internal/outbox"
)

// Resend sends the newest status of a pod although the sink has it: another writer changed it
// there, or the sink now has a pod that it did not have before. Resend returns at once and may be
// called at any time. The first repeat is sent at once, later ones at least ten seconds after the
// previous one. A newer status does not wait. When the context of Run ends, a waiting repeat is
// sent at once, and a later request that would have to wait is ignored. Resend does nothing for a
// pod without a status.
func (s *Sender) Resend(uid types.UID) { s.storeResendRequestAndWake(uid, false) }

// ResendNow is Resend without a wait. It is for a pod that the sink has only now, such as a new
// mirror pod. It returns at once and may be called at any time.
func (s *Sender) ResendNow(uid types.UID) { s.storeResendRequestAndWake(uid, true) }

// storeResendRequestAndWake stores that the status of a pod is to be sent again, and wakes Run. If atOnce is
// true, the repeat does not wait for the period since the last one. A later request without atOnce does not
// change that.
func (s *Sender) storeResendRequestAndWake(uid types.UID, atOnce bool) {
	s.mu.Lock()
	s.mu.resend[uid] = s.mu.resend[uid] || atOnce
	s.mu.Unlock()
	s.wake.Signal()
}

// RetryNow ends all delays after failures, because the destination answers again. It returns at
// once and may be called at any time.
func (s *Sender) RetryNow() {
	now := s.executor.Now()
	s.mu.Lock()
	s.clearFailuresLocked(now, 0)
	s.mu.Unlock()
	s.wake.Signal()
}

// clearFailuresLocked ends all delays after failures, of single pods and of the whole sink, and makes the
// delayed pods due. It sets the number of outages in a row to outages.
func (s *Sender) clearFailuresLocked(now time.Time, outages int) {
	s.mu.outages, s.mu.outageEnd = outages, time.Time{}
	for _, t := range s.mu.sent {
		t.failures = 0
	}
	s.mu.box.WakeFailed(now)
}

// queueRequestedResends queues the statuses that Resend and ResendNow requested, and clears the requests. It
// reads the statuses from a new subscription, which begins with the newest status of every pod. A pod without a
// status is ignored.
func (s *Sender) queueRequestedResends() {
	now, asked := s.executor.Now(), s.takeResendRequests()
	if len(asked) == 0 {
		return
	}
	sub := s.cfg.Store.Subscribe(func() {})
	defer sub.Close()
	for _, u := range sub.TakeAll(nil) {
		if atOnce, ok := asked[u.UID]; ok && !u.Removed {
			s.queueResendIfAllowed(u, now, atOnce)
		}
	}
}

// takeResendRequests returns and clears the requests. The value is true if ResendNow was called for the pod.
func (s *Sender) takeResendRequests() map[types.UID]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.mu.resend
	s.mu.resend = map[types.UID]bool{}
	return asked
}

// queueResendIfAllowed queues an update to be sent again. With atOnce the send is due now. Without atOnce it is
// due at the end of the period since the last repeat, and the call does nothing if a repeat is queued already.
// A sender that is stopping drops a repeat that would have to wait.
func (s *Sender) queueResendIfAllowed(u Update, now time.Time, atOnce bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.getOrAddSentLocked(u.UID)
	at, next, ok := outbox.Repeat{Asked: t.resendRequested, AtOnce: atOnce, Draining: s.draining.Load(), Next: t.nextResend}.Decide(now)
	if !ok {
		return
	}
	t.resendRequested, t.nextResend = true, next
	s.mu.box.QueueResend(u.UID, u, at)
}
