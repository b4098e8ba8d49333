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
//   - A Recorder is a runtime.EventRecorder whose methods never block and never fail. They may be
//     called before Run. After Run nothing is written.
//   - Equal events are one event at the server, with a count. Many similar events of an object are
//     combined. If an object has too many events, further ones are only counted.
//   - At most 1000 events wait for the server. The oldest is dropped for a new one. The drop is logged
//     and counted in State.
//   - While the server does not answer, events wait, and the pauses between attempts grow to 30 s;
//     Retry ends a pause. An event that the server refuses is dropped.
//   - When Run's context is cancelled, the pending events are written for at most Config.Flush. If the
//     server does not answer, they are dropped.
//   - An event has the UID of the given pod. For a static pod that is the UID of its mirror annotation,
//     by which kubectl finds the event.
package events
