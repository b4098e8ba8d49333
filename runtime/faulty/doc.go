// Package faulty wraps any runtime.Runtime and injects faults by rule. The faults are errors, lost
// replies, calls that hang or take long, and wrong answers. It is for tests of code that drives a
// runtime.
//
//	faults, err := faulty.New(faulty.Config{Rules: []faulty.Rule{
//		{Verb: faulty.StartContainer, Container: "web", Times: 1, Do: faulty.FailDone},
//		{Verb: faulty.ListPods, Pod: "web", Skip: 3, Times: 1, Do: faulty.Omit},
//	}})
//	rt := faults.Wrap(memory.New(memory.Config{}), nil)
//
// The rules and their counts belong to the Faults, not to the wrapper: after a simulated
// crash the next wrapper continues where the first one stood. Faults also keep which ID
// belongs to which pod, some hundred bytes for each ID.
//
// # Optional features
//
// A wrapper reports the runtime.Features of the wrapped runtime, except ExecStreamer, Attacher
// and PortForwarder, which it never has.
//
// Latency and hanging wait on the clock given to Wrap. A call that hangs ends with its
// context.
package faulty
