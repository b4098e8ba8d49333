// Package faulty wraps any runtime.Runtime and makes trouble by rule: errors,
// replies that get lost, calls that hang or take long, and lies. It is for
// tests of whatever drives a runtime; see the invariants F53 to F73 for the
// faults it stands for.
//
//	faults, err := faulty.New(faulty.Config{Rules: []faulty.Rule{
//		{Verb: faulty.StartContainer, Container: "web", Times: 1, Do: faulty.FailDone},
//		{Verb: faulty.ListPods, Pod: "web", Skip: 3, Times: 1, Do: faulty.Omit},
//	}})
//	rt := faults.Wrap(memory.New(memory.Config{}), nil)
//
// The rules and their counts belong to the Faults, not to the wrapper: when a
// process crashes and another is started on the same machine, the second
// wrapper goes on where the first stood. So does what they have learned of
// which ID belongs to whom, some hundred bytes for each ID there ever was: Faults
// are for tests, which end.
//
// # Features
//
// A wrapper is an Execer, a LogReader or a HandlerRunner exactly if what it wraps is
// one: whether a pod may run, and how it is probed, hangs on that. It is always an
// EventSource, a StatusReporter, a StatsReader, an Updater, a LogReopener, a Versioner
// and an ImageFilesystem. Without the feature beneath it says that it is ready, that nothing
// is known of the disk, and otherwise ErrUnsupported, as a runtime over a socket
// does that finds out only by asking. It is never an ExecStreamer, an Attacher or a
// PortForwarder: these serve people, and no test of a driver needs them to fail.
//
// # Waiting
//
// Latency and hanging wait on the clock given to Wrap. A call that hangs ends
// with its context, and only with that.
package faulty
