// Package outbox decides in which order the newest word of each pod is sent. It
// is pure: time is an argument, and sending is for whoever has the Box.
//
//   - Of each pod there is one value, the newest. What was not sent before it
//     came is not sent any more.
//   - A pod is not taken again before it is known how its last sending ended.
//   - What is urgent goes first, and otherwise who has waited longest. One that
//     is not urgent waits for at most eight that are.
//   - A pod that is put off waits alone; a newer value does not shorten that.
package outbox
