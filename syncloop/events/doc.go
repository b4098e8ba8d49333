// Package events records the events of pods and nodes at an API server (experimental). "kubectl
// describe" and "kubectl get events" show them.
//
//	recorder, err := events.New(events.Config{Events: server.Events(), Host: "node-1"})
//	...
//	go recorder.Run(ctx)
//	recorder.Event(pod, v1.EventTypeNormal, "Started", "Container started")
//
// # The contract
//
//   - A Recorder is a runtime.EventRecorder whose methods never block and never fail. They
//     may be called before Run; after Run nothing is written.
//   - Equal events are one at the server, with a count. Many similar ones of an object are
//     combined, and too many of one object are not written but counted.
//   - At most 1000 events wait for the server. The oldest is dropped for a new one, which is
//     logged and counted in State.
//   - While the server does not answer, events wait and the pauses between attempts grow to
//     30 s; Retry ends a pause. An event that the server refuses is dropped.
//   - When Run's context ends, the events that wait are written, for at most Config.Flush. If
//     the server does not answer then, they are given up.
//   - An event names the UID of the pod that was given: for a static pod that is the one of
//     its mirror annotation, by which kubectl finds it.
package events
