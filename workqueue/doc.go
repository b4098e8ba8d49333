// Package workqueue keeps one due time per pod UID: it answers "when is which pod to be looked at again", and is not client-go's fairness queue.
//
// There is no Get that blocks, no Done, no rate limiter and no worker behind
// it. A Queue is told "look at this pod at that time" and answers which pods
// are due, and when the next one will be. Whoever drains it owns one timer.
//
// # The contract
//
//   - One entry per UID. Enqueue and EnqueueAt overwrite: the last time given
//     counts, be it earlier or later than the one before. [B-148]
//   - An entry is due when its time is not after now. GetWork removes and
//     returns what is due, each entry once; what is not due stays. [B-146]
//   - What is due comes in order of due time, and of enqueueing where the
//     times are equal. The same calls give the same answers.
//   - Next is the earliest due time. Notify is called whenever that became
//     earlier, so one timer, set anew after each GetWork and each Notify,
//     misses nothing.
//   - Remove forgets an entry at once, so that a pod which is gone leaves
//     nothing behind.
//   - Times are kept relative to one reading of the clock. With a clock that
//     has a monotonic reading, as the real one has, setting the wall clock
//     moves no entry.
//
// # Cost
//
// GetWork with nothing due is a clock reading and one comparison, whatever
// the number of entries; an entry costs O(log n) when it is put in, moved or
// taken out. Nothing is allocated once the queue has reached its size.
//
// # Delays
//
// Policy, CrashLoop and ImagePull say how long to wait. They are values with
// pure methods: time and chance are arguments, and nothing is remembered but
// the Backoff that the caller keeps. Kept statements: B-098 to B-102, B-106
// and the numbers of core 2.0 (Policy); RS-9 to RS-11, RS-13 and outer 3.6
// (CrashLoop, ImagePull). What a failure is called (Outcome), and which of
// several expiries is the earliest, is for the caller to say; so is the key of
// a backoff (RS-12).
//
// # Differences from the kubelet
//
//   - Due means not after now (B-147 is strict: due exactly now is not
//     returned). A consumer that wakes at the due time must find the entry, or
//     it spins under virtual time.
//   - GetWork costs the entries that are due, not all entries (B-149).
//   - The answer is ordered; in the kubelet its order is undefined.
//   - Remove, Next, Len and Notify exist; without Remove, entries of forgotten
//     pods live until they are due (B-150).
//   - The crash-loop entry is left out of account 600 s after the last start
//     attempt at exactly that time, and not at the next housekeeping after it.
//     CrashLoop.Remaining says so in advance, so a requeue at its expiry is
//     not late. The reset time is independent of the maximum, as it is there.
package workqueue
