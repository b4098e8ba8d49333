// Package contain turns a panic in code of the embedder into an error of the call: an event recorder, a log handler, a
// hook, a runtime, a source. Each package that calls such code has its own Guard. A panic then fails one call. It does
// not affect the rest of a batch, another pod, or the process.
//
// A Guard logs the stack of the first panic of a call. Further panics of the same call within five minutes are counted
// and not logged. Healthy names each call that has panicked within the last five minutes; a success does not shorten
// that time.
//
// Three kinds of panics are not contained: a panic of the simulation or of a test kit (executor.Fault), which fails the
// test; runtime.Goexit and fatal errors such as a concurrent map write; and panics in goroutines that the embedder's
// code starts. The Guard also wraps a log handler. It counts a panic of the handler and reports it to the hook, but
// does not log it.
//
// AsType finds an error of a given type, also in aggregates, which errors.As does not search. CheckConfig starts the
// check of a Config: it fills in defaults and reports all faults in the same words in every package.
package contain
