// Package outbox decides in which order the newest values of pods are sent. It is pure:
// time is an argument, and the owner of the Box sends.
//
//   - There is one value per pod, the newest. A newer value replaces one that was not sent.
//   - A pod is not taken again before the result of its last sending is known.
//   - Urgent values go first, then the one that has waited longest. One that is not urgent
//     waits for at most eight urgent ones.
//   - A pod that was put off waits alone. A newer value shortens that to a time that the
//     owner names.
//   - A value may be sent again at a time. A newer one does not wait for that.
package outbox
