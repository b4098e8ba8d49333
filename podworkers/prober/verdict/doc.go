// Package verdict decides when the probes of one container are due and what their outcomes mean. It
// covers liveness, readiness and startup probes with their initial delays, periods and thresholds. It
// is pure: the time is an argument, random numbers are passed to AddProbe, and the changed verdicts are
// returned as a list of Change.
//
// A Container is a value with up to three probes. The caller calls Observe with each
// status of the container, and BeginAttempt and FinishAttempt around each attempt of a probe. It calls
// StopLivenessAndStartup when the pod begins to terminate, and MakeReadinessDue when it needs a verdict
// soon. After each of these calls Due returns when the next attempt of each probe should begin.
//
//	no container, or not running ──► no probe is due
//	running, not started ──────────► only the startup probe is due
//	running, started ──────────────► liveness and readiness probes are due
//	liveness verdict Failure ──────► the liveness probe is not due in this container again
//	any startup verdict ───────────► the startup probe is not due in this container again
//
// # Thresholds
//
// A verdict changes after Spec.Successes successful or Spec.Failures failed attempts in a
// row. An attempt without a result does not count and does not interrupt the row. Before
// the first verdict liveness is Success, readiness is Failure and startup is Unknown, as in
// the kubelet; a container that is more than 10 s older than this process keeps the
// readiness that was published for it. When a container stops running, each verdict becomes
// Failure, also after an exit with code 0.
//
// # Ticks
//
// Attempts begin at the initial delay after the container's start and then once per period.
// A late attempt does not move the later ones: missed ticks are skipped, so that probes that are
// spread over a period stay spread.
//
// Package prober calls this package: it runs the checks, many at a time, and reports the changes.
// RULES.md of both packages list the differences from the kubelet.
package verdict
