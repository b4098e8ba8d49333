// Package timeline turns what was recorded of a pod into a drawing of its life (experimental). Lanes
// go from top to bottom, and bars from left to right along the time.
//
// It is pure. A node.Node hands over a Record of each thing that happens
// to a pod (node.Config.Hooks.Timeline); package recorder keeps them, and a program of yours may
// make its own. Build returns a Timeline, whose String is a text; package page draws it as
// an HTML page.
//
//	log := timeline.NewLog(0)
//	log.Add(timeline.Record{At: t, Kind: timeline.KindStatus, Status: timeline.StatusOf(pod, "1/1 Running")})
//	fmt.Print(timeline.Build(log.Records(), timeline.Options{Now: now}))
//
// The lanes are, in this order:
//
//	worker                what the pod's worker does: syncing, terminating, terminated
//	sandbox               when the sandbox was ready
//	init containers, sidecars, containers, ephemeral containers, in the order of the spec:
//	                      their runs with exit codes, and what they wait for, back-off included
//	NAME actions          starts with the pull of the image, stops within their grace, hooks
//	NAME startup, NAME readiness, NAME liveness
//	                      the results of probes, equal ones in one bar
//	status                the pod as kubectl shows it
//	events                what was announced
//
// A run is known by the times that a status has of it, so that it is complete although the
// agent did not run all the time. A bar that begins before the first record begins with it,
// and its details have the true time. Texts are cut to MaxText bytes and have no control
// characters, because a container may write them. The caller orders the calls: nothing here
// is safe for concurrent use.
package timeline
