// Package prober probes the containers of pods and says what follows from it:
// a stream of verdicts, and which containers have started and are ready.
//
//	AddPod ──► probes        Observe ──► which containers there are
//	               │                          │
//	               ▼                          ▼
//	       due probes in one heap ◄── verdict (pure): when, and what it means
//	               │                          ▲
//	               ▼   a goroutine each,      │
//	            Checker ──── outcome ─────────┘──► Result, UpdatePodStatus
//
// A probe owns no goroutine but while it is checked, and at most
// Config.MaxProbes are at once. What is not running, waits for its startup
// probe, or is on hold stands in no heap and costs nothing.
//
// # How it is used
//
// In each sync of a pod: AddPod, UpdatePodStatus on the status that is being
// made, and, once that is stored, Observe(uid, FromStatus(&stored)). An agent that
// begins observes the published status of a pod before it makes the first of its
// own. StopLivenessAndStartup when the pod begins to terminate, RemovePod when
// nothing of it runs any more, CleanupPods in housekeeping: that also forgets
// pods that were observed and never added.
//
// # Statements kept
//
// PR-1 to PR-20 (PR-21 is kept by package check); I21, I49, I50; F26, F78, F86,
// F96. Items 28 to 31 of the kubelet's known troubles.
//
// # Differences from the kubelet, and why
//
//   - One heap and a goroutine per check, not one per probe with a ticker (PR-1):
//     10,000 probes would be 10,000 goroutines.
//   - AddPod skips duplicates one by one (PR-1).
//   - Nothing polls for a status (PR-6): Observe tells. A first probe is made as
//     soon as it may be, not at the next tick of a ticker begun earlier.
//   - Only probes of containers that are older than the agent wait for a random
//     part of the first period (PR-3): what the agent starts is spread already.
//   - Initial values are not delivered as results (PR-2): they change no answer,
//     and would cost each new container a sync per probe.
//   - The readiness of a container from before the agent is what was published
//     of it, and the same holds for whether it has started, of every container
//     and not only of sidecars (PR-5, KEP-4781).
//   - Probes never end because a container has (PR-7): they rest, and go on if
//     there is another one. A container seen running after it was seen not to
//     begins anew.
//   - Readiness is made due at once when startup succeeds, not only when a
//     status is made (PR-10, PR-14); a status hurries a probe without a verdict
//     at most once a second.
//   - A check in flight is cancelled when nobody wants its outcome any more, and
//     its outcome is dropped (PR-18, #140977).
//   - Whether a container has started is never taken from the status that is
//     being made, only from probes and from what was stored (PR-15). A pod that
//     was not added is judged by its spec, so that none is ready before its
//     probes have spoken.
//   - At most 128 checks are made at once, hanging ones taking half of that. A
//     tick that is missed is left out, and the place in the period is kept.
//   - A check that ignores the end of its context, which breaks the contract of
//     Checker, keeps its place, and its probe from being made again: a second one
//     beside it would be one more each period. It holds up the end of Run for
//     Config.DrainTimeout, and is named in its error.
//   - A process that was stopped for more than three seconds leaves out the
//     ticks it missed, and failures of checks that were under way count for
//     nothing (F78).
//   - Results cannot be lost: they go to a function that does not block, in
//     order, each once, instead of a channel of 20.
//   - Events name the container in the text and are about the pod.
package prober
