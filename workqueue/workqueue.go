package workqueue

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// WorkQueue holds at most one due time per pod UID. podworkers.Config takes one; Queue is
// this package's. Package workqueuetest checks an implementation.
//
// A WorkQueue belongs to one Workers, which calls every method under a lock of its own, one
// at a time: it needs no lock and starts no goroutine. It must not call the Workers back,
// wait, or keep a slice that it was given. What is not in it is lost: nothing else
// remembers when a pod is retried.
//
// The same calls have the same results, or simulations that use it cannot be repeated. A
// panic, or an answer that contradicts the contract, ends Workers.Run with
// podworkers.ErrQueue; none of the methods is called after that.
type WorkQueue interface {
	// EnqueueAt makes the pod due at a time, in place of the time it had, whether that
	// was earlier or later. It is called after each sync that leaves nothing to be done
	// at once: on a node that is idle, once per pod and resync interval. The time may be in
	// the past.
	EnqueueAt(uid types.UID, at time.Time)
	// Remove forgets the pod's time. It is called when a pod needs no retry any more, for
	// a pod that has no time too.
	Remove(uid types.UID)
	// GetWork removes the pods that are due, each one whose time is not after now, and
	// returns them appended to due, each once. It is called when Workers.Run begins, when the
	// time that Next returned has come, and whenever an earlier time was enqueued. The order is the
	// order in which pods wake; Queue has that of their times.
	GetWork(now time.Time, due []types.UID) []types.UID
	// Next is the earliest time of all pods, and false if there is none. It is called
	// right after GetWork, and then is after the now of that call; it is when Run wakes again.
	Next() (time.Time, bool)
	// Due is the pod's time, and false if it has none. It is called for people who ask
	// when a pod is synced again.
	Due(uid types.UID) (time.Time, bool)
}
