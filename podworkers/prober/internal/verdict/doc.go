// Package verdict decides when the probes of one container are due and what
// their outcomes mean. It is pure: time comes as an argument, chance as numbers
// given at the beginning, and what has to be told goes out as Changes.
//
// A Container is a plain value with up to three probes. Five things happen to
// it: Observe (what its status says), Begin and Finish (an attempt), Stop (the
// pod is terminating) and Hurry (somebody would like to know). After each of
// them Due says anew when each probe is due, if at all.
//
//	no container, or not running ──► no probe is due
//	running, not started ──────────► startup only
//	running, started ──────────────► liveness and readiness
//	on hold ───────────────────────► not due until the container is another one
//
// # Statements kept
//
// PR-2, PR-3, PR-5 to PR-17. F26 (FromProbe), F78 (Skip, and that ticks keep
// their phase).
//
// # Differences from the kubelet, and why
//
// They are listed in the doc of package prober, whose core this is.
package verdict
