// Package podworkers runs one serialised state machine per pod and calls a PodSyncer for each step.
// The kubelet's part of this name does the same. Give it a PodSyncer of your own
// and a cache of pod statuses, and it runs.
//
// Without containers you implement three methods: SyncPod, SyncTerminatingPod and
// SyncTerminatedPod of a PodSyncer that embeds NoRuntimePods. Set Config.Cache to NoCache. No
// runtime is needed: the pod statuses that the methods get are empty. The example Table keeps rows
// of a table that way.
//
// # Structure
//
// A plain value, lifecycle.Table, decides what happens to a pod. This package is the shell around
// it: the lock, the goroutines and the timer.
//
//	 UpdatePod  Kill  SyncKnownPods              View
//	     │        │         │                     │
//	     ▼        ▼         ▼                     ▼
//	┌──────────────────── one lock, held briefly ───────────────────┐
//	│  lifecycle.Table ──► effects ──► records, queue, completions  │
//	└──────┬─────────────────┬──────────────────┬───────────────────┘
//	       │ wake            │ cancel           │ resolve, call hooks
//	       ▼                 ▼                  ▼      (lock released)
//	 worker of a pod   context of its call   Completion, Hooks
//	       │
//	       │  StartPodSync ─► wait for a fresh status ─► wait for a slot ─► PodSyncer ─► Done
//	       └──────────────────── repeats while there is work ◄──────────────────────┘
//	                        then the goroutine exits; at most one entry in
//	                        the queue is left, for which Run has one timer
//
// # Which goroutine runs what
//
//   - UpdatePod, Kill, SyncKnownPods and View run on the caller's goroutine and wait only for the
//     lock. Before UpdatePod takes the lock, it calls Cache.Get for a pod in a terminal phase and
//     for a created pod. SyncKnownPods calls KnownPods.Authoritative before it takes the lock.
//     After the lock is released, UpdatePod calls Cache.Get if the update is an observation of a
//     pod whose last call failed.
//   - PodSyncer, Cache.NewerThan, Cache.Mark, Jitter, Recorder, Hooks.Syncing and Hooks.Synced run
//     on the pod's goroutine. There is at most one per UID, and none while the pod is idle.
//   - Hooks.Phase and Hooks.Forgotten run on the goroutine whose call caused them, after the lock
//     is released. The same goroutine resolves a Completion.
//   - Run uses the goroutine of its caller. It sleeps until the earliest retry.
//
// No lock is held during a call of your code, so your code may call the workers. It must not wait
// for something that can happen only after it returns. For example, a SyncPod must not wait for
// the Completion of its own pod: the pod terminates only after SyncPod has returned. A SyncPod
// that kills its own pod is notified through its context.
//
// # The contract
//
//   - Calls for one UID never overlap. Calls for different UIDs run in parallel, within
//     Config.MaxSyncs and MaxTerminations.
//   - The newest content wins. Updates of a busy pod are merged into one.
//   - A running SyncPod is cancelled by a kill, a deletion, a terminal phase, or when the pod is
//     no longer desired. A running termination is cancelled by a shorter grace period. Other
//     updates cancel nothing.
//   - After termination was requested no SyncPod is started.
//   - Every call except SyncTerminatingRuntimePod gets a status that was observed after the UID's
//     last call returned. If the status cannot be read, the event FailedSync is recorded and the
//     pod is retried later. A termination uses the last known status instead.
//   - After a success a pod is synced again after the resync interval. If Config.Stability reports
//     the pod as stable, it is checked again after ten times that interval, and synced only if it
//     is no longer stable. After an error the pod is retried at the time that the error names, or
//     after the backoff. Pending updates run at once.
//   - A panic is an error of that pod. Its stack is logged once.
//   - A Completion is resolved exactly once, in every case.
//   - Slots are granted in order of arrival. A call holds no slot while it waits for a status, nor
//     in Wait and WithoutSlot. SyncPod and the terminations have separate slots.
//   - When Run's context ends, no call is started and running calls are cancelled. Run returns when
//     the last one has returned. After the drain timeout it returns an error with the names of the
//     pods whose calls still run.
//   - Updates and kills before Run are stored until Run. After Run they return ErrStopped. Invalid
//     ones return ErrInvalid.
//
// Package lifecycle documents the stages, the incarnations of a UID, and how static pods share a
// full name.
package podworkers
