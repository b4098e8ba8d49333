// Package timeline draws the life of a pod from records (experimental). Lanes are stacked from top to
// bottom, and bars extend from left to right along the time.
//
// It is pure. A node.Node reports a Record of each thing that happens to a pod
// (node.Config.Hooks.Timeline). Package recorder stores the records, and a program may create its own.
// Build returns a Timeline, whose String is a text; package page draws it as an HTML page.
//
//	log := timeline.NewLog(0)
//	log.Add(timeline.Record{At: t, Kind: timeline.KindStatus, Status: timeline.StatusOf(pod, "1/1 Running")})
//	fmt.Print(timeline.Build(log.Records(), timeline.Options{Now: now}))
//
// The lanes are, in this order:
//
//	worker                the phases of the pod's worker: syncing, terminating, terminated
//	sandbox               the times with a ready sandbox
//	init containers, sidecars, containers, ephemeral containers, in the order of the spec:
//	                      their runs with exit codes, and their waits, including back-off
//	NAME actions          starts with the image pull, stops with their grace period, hooks
//	NAME startup, NAME readiness, NAME liveness
//	                      the results of probes; equal results share one bar
//	status                the status of the pod as kubectl shows it
//	events                the recorded events
//
// The times in a status identify a run, so a run is complete even if the agent did not run all the
// time. A bar that starts before the first record is cut there, and its details have the true time.
// Texts are cut to MaxText bytes and have no control characters, because a container may write them.
// The package is not safe for concurrent use.
package timeline
