// Package prober probes the containers of pods. It delivers results, and sets Started and Ready in
// container statuses.
//
//	AddPod ──► probes        Observe ──► the observed containers
//	               │                          │
//	               ▼                          ▼
//	       due probes in one heap ◄── verdict (pure): due times and verdicts
//	               │                          ▲
//	               ▼   a goroutine each,      │
//	            Checker ─── CheckResult ────────┘──► Result, UpdatePodStatus
//
// A probe has a goroutine only while its check runs. At most Config.MaxProbes (128 by default) checks run
// at once; probes whose checks hang use at most half of that. A container that does not run, waits for
// its startup probe or is on hold has no heap entry.
//
// # Usage
//
// In each sync of a pod call AddPod, then UpdatePodStatus on the new status, and, after that is stored,
// Observe(uid, FromStatus(&stored)). An agent that starts calls Observe with the published status of a pod
// before it makes its own. Call StopLivenessAndStartup when the pod begins to terminate, RemovePod when
// all its containers have stopped, and CleanupPods in housekeeping. CleanupPods also removes pods that
// were observed and never added.
//
// # The contract
//
//   - A probe keeps the settings with which it was first added.
//   - Results are delivered to a function that must not block, in order, each once.
//   - A check whose result is no longer needed is cancelled. A check that ignores the end of its context
//     counts towards MaxProbes, and its probe does not run again meanwhile. It delays the end of Run by at
//     most Config.DrainTimeout, and Run's error names it.
//   - A missed tick is skipped. After the process was suspended for more than three seconds, missed ticks
//     are skipped and failures of running checks do not count.
//   - A panic in a Checker fails only that check.
package prober
