// Package workqueue keeps one due time per pod UID and answers which pods are due. It is
// not client-go's fairness queue: it has no Get that blocks, no Done, no rate limiter and
// no worker. Its owner enqueues UIDs, reads what is due, and has one timer for the next due
// time.
//
// WorkQueue is the interface that podworkers.Config takes, and Queue its implementation
// here. An implementation of your own passes package workqueuetest.
//
// # The contract
//
//   - There is one entry per UID. Enqueue and EnqueueAt overwrite it: the last time counts,
//     earlier or later than the one before.
//   - An entry is due when its time is not after now. GetWork removes and returns what is
//     due, each entry once, in order of due time, and of enqueueing where times are equal.
//   - Next returns the earliest due time. Notify is called when that became earlier, so one
//     timer, set again after each GetWork and each Notify, is enough.
//   - Remove deletes an entry at once.
//   - Times are relative to one reading of the clock. With a monotonic clock, setting the
//     wall clock moves no entry.
//
// GetWork with nothing due is one clock reading and one comparison, whatever the number of
// entries. An entry costs O(log n) to add, move or remove. Nothing is allocated once the
// queue has reached its size.
//
// The caller decides how long to wait: package podworkers/backoff has the kubelet's delays.
package workqueue
