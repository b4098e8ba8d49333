// Package workqueue keeps one due time per pod UID and answers which pods are due. It is
// not client-go's fairness queue: it has no Get that blocks, no Done, no rate limiter and
// no worker. Its owner enqueues UIDs, reads what is due, and has one timer for the next due
// time.
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
// # Delays
//
// Policy, CrashLoop and ImagePull compute delays. They are values with pure methods: time
// and jitter are arguments, and the caller keeps the Backoff. The caller also names the
// Outcome of a call, the key of a backoff, and the earliest of several retry times.
package workqueue
