// Package workqueue stores one due time per pod UID and returns the pods that are due. It is not
// client-go's fairness queue: it has no Get that blocks, no Done, no rate limiter and no worker.
// Its owner enqueues UIDs, calls GetWork, and has one timer for the next due time.
//
// WorkQueue is the interface that podworkers.Config takes, and Queue its implementation here. An
// implementation of your own passes package workqueuetest.
//
// # The contract
//
//   - A UID has at most one entry. Enqueue and EnqueueAt overwrite it: the last time counts,
//     even if it is later than the one before.
//   - An entry is due when its time is not after now. GetWork removes and returns the due
//     entries, each once, in order of due time. Equal times are returned in the order in which
//     they were enqueued.
//   - Next returns the earliest due time. Notify is called when the earliest due time became
//     earlier. So one timer is enough, if it is set again after each GetWork and each Notify.
//   - Remove deletes an entry at once.
//   - Times are stored relative to one reading of the clock. With a monotonic clock, setting the
//     wall clock moves no entry.
//
// GetWork with nothing due costs one comparison, whatever the number of entries. An entry costs
// O(log n) to add, move or remove. Nothing is allocated once the queue has reached its size.
//
// The caller decides how long to wait: package podworkers/backoff has the kubelet's delays.
package workqueue
