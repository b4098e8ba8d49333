// Package outbox decides which status of a pod is sent when. It is pure: time is an argument, and
// the owner of the Box sends.
//
//   - There is one value per pod, the newest. A newer value replaces one that was not sent.
//   - A pod is not taken again before the result of its last sending is known.
//   - Urgent values go first, then the one that has waited longest. One that is not urgent
//     waits for at most eight urgent ones.
//   - A pod that was put off waits alone. A newer value shortens that to a time that the
//     owner names.
//   - A value may be sent again at a time. A newer one does not wait for that.
//
// Facts.Decide decides whether the status of a terminating pod is sent now. A status whose terminal
// phase is held back, because containers of the pod could still run, is sent once, and checked
// again each second. When no container runs, the node has 100 ms to finish with the pod, so that one
// status says all. When the sender ends, nothing waits.
package outbox
