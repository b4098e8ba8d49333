package workqueue

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// WorkQueue stores at most one due time per pod UID. podworkers.Config takes one; Queue is the
// implementation of this package. Package workqueuetest checks an implementation.
//
// A WorkQueue belongs to one Workers, which calls every method under its own lock, one at a time.
// So it needs no lock and starts no goroutine. It must not call the Workers, wait, or keep a slice
// that it was given. It must not lose an entry: the Workers have no other record of the time at
// which a pod is retried.
//
// The same calls must have the same results, or simulations that use it cannot be repeated. A
// panic, or a result that violates the contract, ends Workers.Run with podworkers.ErrQueue. No
// method is called after that.
type WorkQueue interface {
	// EnqueueAt makes the pod due at a time. It replaces the pod's due time, earlier or later. It
	// is called after each sync that leaves no work to do at once: on an idle node once per pod and
	// resync interval. The time may be in the past.
	EnqueueAt(uid types.UID, at time.Time)
	// Remove deletes the pod's entry. It is called when a pod needs no retry, also for a pod
	// without an entry.
	Remove(uid types.UID)
	// GetWork removes the due pods, that is, those whose time is not after now, and appends them to
	// due, each once. It is called when Workers.Run starts, when the time that Next returned has
	// come, and whenever an earlier time was enqueued. The pods are woken in the order that it
	// returns. Queue returns them in order of due time.
	GetWork(now time.Time, due []types.UID) []types.UID
	// Next returns the earliest due time, and false if the queue is empty. It is called right after
	// GetWork, so its result is after the now of that call. Run sleeps until then.
	Next() (time.Time, bool)
	// Due returns the pod's due time, and false if it has none. It is called to display when a pod
	// is synced next.
	Due(uid types.UID) (time.Time, bool)
}
