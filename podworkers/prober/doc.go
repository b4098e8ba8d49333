// Package prober probes the containers of pods. It delivers results, and tells which
// containers have started and are ready.
//
//	AddPod ──► probes        Observe ──► which containers there are
//	               │                          │
//	               ▼                          ▼
//	       due probes in one heap ◄── verdict (pure): when, and what it means
//	               │                          ▲
//	               ▼   a goroutine each,      │
//	            Checker ─── CheckResult ────────┘──► Result, UpdatePodStatus
//
// A probe has a goroutine only while it is checked. At most Config.MaxProbes (128 by
// default) are checked at once; checks that hang use at most half of that. A container that
// does not run, waits for its startup probe or is on hold has no heap entry.
//
// # How it is used
//
// In each sync of a pod call AddPod, then UpdatePodStatus on the status that is being made,
// and, once that is stored, Observe(uid, FromStatus(&stored)). An agent that starts
// observes the published status of a pod before it makes its own. Call
// StopLivenessAndStartup when the pod begins to terminate, RemovePod when nothing of it
// runs any more, and CleanupPods in housekeeping, which also forgets pods that were
// observed and never added.
//
// # The contract
//
//   - A probe that is known keeps the settings with which it was first added.
//   - Results are delivered to a function that must not block, in order, each once.
//   - A check whose result is not needed any more is cancelled. A check that ignores the end of its
//     context keeps its place, and its probe is not made again meanwhile. It delays the end
//     of Run by Config.DrainTimeout at most, and Run's error names it.
//   - A missed tick is left out. After the process was stopped for more than three seconds,
//     missed ticks are left out and failures of checks under way do not count.
//   - A panic in a Checker fails that check only.
package prober
