// Package faulty wraps any runtime.Runtime and injects faults by rules. The faults are errors,
// lost replies, hanging or slow calls, and wrong results. It is for tests of code that drives a runtime.
//
//	faults, err := faulty.New(faulty.Config{Rules: []faulty.Rule{
//		{Verb: faulty.StartContainer, Container: "web", Times: 1, Do: faulty.FailDone},
//		{Verb: faulty.ListPods, Pod: "web", Skip: 3, Times: 1, Do: faulty.Omit},
//	}})
//	rt := faults.Wrap(memory.New(memory.Config{}), nil)
//
// The rules and their counts belong to the Faults, and not to a wrapper. After a simulated crash a
// new wrapper continues with the same counts. Faults also store the pod of every ID, some hundred
// bytes per ID.
//
// # Optional features
//
// A wrapper reports the runtime.Features of the wrapped runtime, except ExecStreamer, Attacher and
// PortForwarder.
//
// Latency and hanging calls wait on the clock given to Wrap. A hanging call returns when its
// context ends.
package faulty
