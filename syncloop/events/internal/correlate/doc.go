// Package correlate decides which events are written: a new event, a higher count of an event that was
// written before, or nothing. It is pure: the Table returns the next write, and its owner reports the
// result.
//
//   - Equal occurrences are one event with a count. Occurrences that come before the event could be
//     written are included in its count and cost no further request.
//   - Once an object has had ten different messages of one type and reason, each at most ten minutes
//     after the previous one, further messages are one combined event with the newest message.
//   - The events of one object and type are written 25 times, and then once in five minutes. The table
//     counts the others.
//   - At most 1000 events wait. The oldest is dropped for a new one; its next occurrence includes its
//     count. At most 4096 entries of each kind are remembered.
//   - While the server is unreachable nothing is written, and events are lost only by the bound. An
//     event is dropped if the server refuses it, or after 12 failed attempts. An event that the server
//     has deleted is created again.
//   - Writes are limited to 50 per second, after a burst of 100.
//
// It is a package of its own so that it stays pure: package events, its only importer, has goroutines.
//
// EventCorrelator of client-go combines events too. But it reads the clock and keeps no count while
// the server is unreachable, and every user of events would depend on client-go.
package correlate
