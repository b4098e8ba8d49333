// Package statustest checks published pod statuses in tests, and the sinks that receive
// them. RunSink is the conformance kit for a status.Sink: it sends statuses as a
// status.Sender does, and reads back what the sink has stored. The other functions check
// what must be true of statuses, whichever program publishes them:
//
//   - CheckTransition: one status may follow another.
//   - CheckStatus: a status fits its pod.
//   - CheckGone: a status may be the last one.
//
// Each returns every fault that it finds, joined, or nil. They are pure and may be
// called concurrently.
package statustest
