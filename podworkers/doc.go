// Package podworkers runs one serialised state machine per pod and calls a PodSyncer for
// what a pod needs now. The kubelet calls this part its pod workers. Give it a PodSyncer of
// your own and a cache that answers for a pod's status, and it runs.
//
// A user without containers implements three methods: SyncPod, SyncTerminatingPod and
// SyncTerminatedPod of a PodSyncer that embeds NoRuntimePods. Config.Cache is NoCache. Nothing
// else of a runtime is needed: the pod statuses that the methods get are empty. The example
// Table keeps rows of a table that way.
//
// # The shell around the table
//
// A plain value, lifecycle.Table, decides what happens to a pod. This package is the shell
// around it: the lock, the goroutines and the timer.
//
//	 UpdatePod  Kill  SyncKnownPods              View
//	     │        │         │                     │
//	     ▼        ▼         ▼                     ▼
//	┌──────────────────── one lock, held briefly ───────────────────┐
//	│  lifecycle.Table ──► effects ──► records, queue, kills         │
//	└──────┬─────────────────┬──────────────────┬───────────────────┘
//	       │ wake            │ cancel           │ resolve, call hooks
//	       ▼                 ▼                  ▼      (lock released)
//	   a worker        its call's context    Completion, Hooks
//	       │
//	       │  StartPodSync ─► wait for a fresh status ─► wait for a slot ─► PodSyncer ─► Done
//	       └──────────────────── as long as there is work ◄───────────────────────┘
//	                        then the goroutine ends; at most an entry in
//	                        the queue is left, for which Run has one timer
//
// # Which goroutine runs what
//
//   - UpdatePod, Kill, SyncKnownPods and View run on the caller's goroutine and wait for
//     nothing but the lock. Before it takes the lock, UpdatePod calls Cache.Get for a pod
//     in a terminal phase and for a created one, and SyncKnownPods calls
//     KnownPods.Authoritative. After the lock is released, UpdatePod calls Cache.Get for an
//     observation of a pod whose last call failed.
//   - PodSyncer, Cache.NewerThan, Cache.Mark, Jitter, Recorder, Hooks.Syncing and Hooks.Synced run
//     on the pod's goroutine. There is at most one per UID, and none while the pod is idle.
//   - Hooks.Phase, Hooks.Forgotten and the end of a Completion run on the goroutine that
//     caused them, after the lock was released.
//   - Run uses the goroutine of its caller. It sleeps until the earliest retry.
//
// No lock is held during these calls, so each may call back. None may wait for something
// that this very call causes. A syncer that kills its own pod and waits is woken by its
// context.
//
// # The contract
//
//   - Calls for one UID never overlap. Calls for different UIDs run in parallel, within
//     Config.MaxSyncs and MaxTerminations.
//   - The newest content wins. Updates of a busy pod are merged into one.
//   - A kill, a deletion, a terminal phase, or that the pod is no longer desired, cancels a
//     running SyncPod. A
//     shorter grace period cancels a running termination. Other updates cancel nothing.
//   - After termination was requested no SyncPod begins.
//   - Every call except SyncTerminatingRuntimePod sees a status that was observed after the
//     UID's last call had ended. If there is none, the event FailedSync is recorded and the
//     pod is retried later; a termination uses the last status that was seen.
//   - After a success a pod is synced again after the resync interval. If Config.Stability says
//     that the pod is stable, it is asked again after ten times that, and the pod is synced
//     only if it is stable no longer. After an error the pod is retried when the error says
//     so, or after the backoff. Pending updates run at once.
//   - A panic is an error of that pod. Its stack is logged once.
//   - A Completion is resolved exactly once, whatever becomes of the pod.
//   - Slots are given in order of arrival. None is held while waiting for a status, nor in
//     Wait and WithoutSlot. SyncPod and the terminations have slots of their own.
//   - When Run's context ends, nothing begins and running calls are cancelled. Run returns
//     when the last one has ended, or names those that exceed the drain timeout.
//   - Updates and kills before Run wait for it; after it they return ErrStopped. Invalid
//     ones return ErrInvalid.
//
// Package lifecycle documents the phases, what a re-created UID waits for, and how static
// pods share a full name.
package podworkers
