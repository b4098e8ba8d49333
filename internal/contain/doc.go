// Package contain turns a panic in code of the embedder into an error of that one call: an
// event recorder, a log handler, a hook, a runtime, a source. Each package that calls such
// code has a Guard of its own. So a panic costs one call and never the rest of a batch,
// another pod, or the process.
//
// A Guard logs the stack of the first panic of a call. Further panics of the same call
// within five minutes are counted and not logged. Healthy names each call that has panicked
// within the last five minutes; a success does not shorten that time.
//
// Not contained are: a panic of the simulation or of a test kit (executor.Fault), which
// fails the test; runtime.Goexit and fatal errors such as a concurrent map write; and
// panics in goroutines that the foreign code starts by itself. A log handler is wrapped by
// the Guard; its panic is counted and reported to the hook, not logged.
//
// AsType finds an error of a type in what such code returns, in aggregates too, which
// errors.As does not search. Complete begins the check of a Config: it fills in defaults
// and reports all faults in the same words in every package.
package contain
