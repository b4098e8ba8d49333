// Package statustest checks published pod statuses in tests: what must be true of them,
// whichever program publishes them.
//
//   - CheckTransition: one status may follow another.
//   - CheckStatus: a status fits its pod.
//   - CheckGone: a status may be the last one.
//
// Each returns every fault that it finds, joined, or nil. They are pure and may be
// called concurrently.
package statustest
