// Package contain turns a panic in code that an embedder supplies into an
// error of that one call: an event recorder, a log handler, a hook, a runtime,
// a source. What calls out to such code does so through a Guard of its own, so
// that a fault there costs one call and never the rest of a batch, another
// pod, or the process.
//
// A Guard writes the stack to the log at the first panic of a call. Further
// panics of the same call within five minutes are counted, not logged. Healthy
// names each call that has panicked within the last five minutes. A success
// does not shorten that time: a call that panics every second time would seem
// well half of the time otherwise.
//
// A panic of the simulation or of a test kit (executor.Fault) is never contained:
// it is raised again and fails the test. What ends the process or the goroutine
// by another way than a panic (runtime.Goexit, a fatal error such as a
// concurrent map write) passes. A goroutine that foreign code starts by itself
// is beyond the reach of a Guard.
//
// A log handler that panics must not hit the report about it. So a Guard wraps
// the handler: such a panic is not logged, only told and counted.
package contain
