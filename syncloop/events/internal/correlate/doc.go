// Package correlate decides what is written of events: a new one, a higher count of one
// that was written before, or nothing. It is pure: the Table says what its owner writes
// next, and the owner says how that went.
//
//   - Equal occurrences are one event with a count. Those that come before it could be
//     written are counted in it, and cost no further request.
//   - Once an object has had ten different messages of one type and reason, each at most ten
//     minutes after the one before, further ones are one event that is combined from similar
//     ones, with the newest message.
//   - The events of one object and type are written 25 times, and then once in five minutes.
//     What is not written is counted.
//   - At most 1000 events wait. The oldest is dropped for a new one; its count is kept for
//     its next occurrence. At most 4096 of a kind are remembered.
//   - While the server is away nothing is written, and nothing is lost but by the bound. An
//     event that the server refuses is dropped, and so is one that has failed 12 times. One
//     that the server has forgotten is made again.
//   - Writes begin at 50 a second, after a burst of 100.
//
// It is a package of its own so that it stays pure: package events, its one importer, has goroutines.
//
// EventCorrelator of client-go combines events too. It reads the clock, keeps no count while the
// server is away, and would bring client-go to every user of events.
package correlate
