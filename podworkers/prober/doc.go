// Package prober probes the containers of pods. It delivers changed verdicts, and sets Started and Ready
// in container statuses. RULES.md explains the ids in comments.
//
//	AddPod ──► probes        Observe ──► the observed containers
//	               │                          │
//	               ▼                          ▼
//	       due probes in two heaps ◄── verdict (pure): due times and verdicts
//	               │                          ▲
//	               ▼   a goroutine each,      │
//	            Checker ─── CheckResult ────────┘──► Result, UpdatePodStatus
//
// These words are used throughout:
//
//   - An attempt is one run of a probe at its tick. It calls the Checker up to three times, until one
//     check has a CheckResult.
//   - A verdict is Success or Failure of a probe. It changes after as many equal attempts in a row as the
//     threshold of the probe requires. A Result is one change of a verdict.
//   - A probe is on hold when its verdict is final for this container: after a failed liveness probe,
//     and after any verdict of a startup probe.
//
// A probe has a goroutine only while its attempt runs. At most Config.MaxProbes (128 by default) attempts
// run at once. The second heap has the probes whose last attempt reached its timeout. They use at most half
// of MaxProbes. A probe has no heap entry while its container does not run or it is on hold. Liveness
// and readiness probes have none before the container has started.
//
// # Usage
//
// In each sync of a pod call AddPod, then UpdatePodStatus on the new status. After the status is stored
// call Observe(uid, FromStatus(&stored)). An agent that starts calls Observe with the published status of
// a pod before the first sync of the pod. Call StopLivenessAndStartup when the pod begins to terminate,
// RemovePod when all its containers have stopped, and CleanupPods in housekeeping. CleanupPods also
// removes pods that were observed and never added.
//
// # The contract
//
//   - A probe keeps the settings with which it was first added.
//   - Results are delivered in order, each once, to a function that must not block.
//   - When a container stops running, every verdict becomes Failure, also after an ordinary exit with
//     code 0. StopLivenessAndStartup makes both verdicts Success and keeps them.
//   - An attempt in which no check has a result counts neither as success nor as failure.
//   - A check whose result is no longer needed is cancelled. A check that ignores the end of its context
//     counts towards MaxProbes. As in the kubelet, its probe makes no other attempt until it returns, also
//     if the container was replaced, or if the pod was removed and added again. It delays the end of Run
//     by at most Config.DrainTimeout, and Run's error names it.
//   - A probe that misses a tick runs at the next tick. While the process is suspended (SIGSTOP, a frozen
//     virtual machine) its clock goes on. If it resumes more than three seconds late, missed ticks are
//     skipped and failures of the running attempts do not count.
//   - A panic in a Checker affects only that attempt.
package prober
