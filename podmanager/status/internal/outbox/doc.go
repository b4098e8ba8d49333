// Package outbox decides which status of a pod is sent when. It is pure: time is an argument, and the
// owner of the Box sends.
//
//   - Each pod has one value, the newest. A newer value replaces a value that was not sent.
//   - A pod is not taken again before the result of its last send is known.
//   - Urgent values go first, then the value that has waited longest. A value that is not urgent waits
//     for at most eight urgent values.
//   - A pod with a delay does not delay others. A newer value shortens the delay to a time that the
//     owner names.
//   - The owner can delay each first change of a pod. Then the newest value of that time is sent.
//   - A value may be sent again at a time. A newer value does not wait for that time.
//
// Facts.Decide decides whether the status of a terminating pod is sent now. A status whose terminal
// phase is held back, because containers of the pod could run, is sent once and checked again each
// second. When no container runs, the node has 100 ms to finish with the pod, so that one status shows
// the final state. When the sender stops, nothing waits.
package outbox
