// Package podworkers keeps one serialised state machine per pod and calls a
// PodSyncer for whatever a pod needs now. It is what the kubelet calls its pod
// workers, without the kubelet around it: give it a PodSyncer of your own, and
// a way to ask for a pod's status, and it runs.
//
// # The shell around the table
//
// What happens to a pod is decided by a plain value, lifecycle.Table. This
// package is the shell around it: the lock, the goroutines, the timer.
//
//	 UpdatePod  Kill  SyncKnownPods              View
//	     │        │         │                     │
//	     ▼        ▼         ▼                     ▼
//	┌──────────────────── one lock, held briefly ───────────────────┐
//	│  lifecycle.Table ──► effects ──► records, queue, kills         │
//	└──────┬─────────────────┬──────────────────┬───────────────────┘
//	       │ wake            │ cancel           │ resolve, tell hooks
//	       ▼                 ▼                  ▼      (lock released)
//	   a runner        its call's context    Completion, Hooks
//	       │
//	       │  StartPodSync ─► wait for a fresh status ─► wait for a slot ─► PodSyncer ─► Done
//	       └──────────────────── as long as there is work ◄───────────────────────┘
//	                        then it ends, and leaves at most an entry in
//	                        the queue, for which Run sets its one timer
//
// # Who runs what on which goroutine
//
//   - UpdatePod, Kill, SyncKnownPods, View: the caller's. They wait for nothing
//     but the lock. Before the lock is taken, UpdatePod calls Cache.Get for a pod
//     that is in a terminal phase or is created, and SyncKnownPods calls
//     KnownPods.Authoritative. After the lock was released, UpdatePod calls Cache.Get
//     for an observation of a pod whose last call has failed.
//   - PodSyncer, Cache.NewerThan, Cache.Mark, Jitter, Recorder, Hooks.Synced:
//     the pod's runner, one goroutine at most per UID, started when there is
//     work and ended when there is none. An idle pod has no goroutine.
//   - Hooks.Phase, Hooks.Forgotten, a Completion's end: whoever brought them
//     about, after the lock was released.
//   - Run: one goroutine, the caller's. It sleeps until the earliest retry.
//
// No lock is held during any of these calls, so each may call back. What none
// may do is wait, in a hook, for something that this very call brings about. A
// syncer that kills its own pod and waits for that is woken by its context.
//
// # The contract
//
// The statements are those of the behaviour files, in our words.
//
//   - Calls for one UID never overlap; those for different ones run in
//     parallel, within Config.MaxSyncs and MaxTerminations. [B-082, I1, I39]
//   - The newest content wins. Updates of a busy pod are merged into one. The
//     StartTime of the oldest of them counts. [B-051, B-052, F91]
//   - A kill, a deletion, a terminal phase or missing desire ends the running
//     SyncPod's context; so does a shorter grace that of the kill. An ordinary
//     update, or a kill that changes nothing, does not. [B-054, B-055, I20]
//   - No SyncPod begins once the end was asked for. [B-035, I2]
//   - Every call but SyncTerminatingRuntimePod sees an observation begun after
//     the UID's last call had ended, whatever that call returned. [B-083, B-086]
//   - If there is none to be had, the event FailedSync is recorded, the pod is
//     not synced and tried again later, and the bound stays where it is. [B-085]
//   - A replay has the type SyncPodSync, no StartTime, and the mirror that was
//     last seen. [B-077 to B-081]
//   - The last PodStatusFunc that came is passed to each attempt to terminate.
//     [B-089]
//   - After a success a pod is looked at again after the resync; after an error
//     when that says so, or after the backoff; if something is pending, at
//     once. [B-098 to B-106, I17, I18]
//   - A panic is an error of that pod. Its stack is logged, once. [I50]
//   - A Completion is resolved exactly once, on every way out. [I44]
//   - Slots are given in order of arrival and handed over directly. None is held
//     while waiting for a status, nor in Wait and WithoutSlot. SyncPod and the other
//     methods have slots of their own. [I16]
//   - After Run's context has ended nothing begins, running calls are cancelled,
//     and Run returns when the last has ended, or names those that have not
//     within the drain timeout. [I43]
//   - Updates and kills before Run are kept for it; after it they are refused
//     with ErrStopped. Nonsense is refused with ErrInvalid. [F87]
//
// What the phases are, what a re-created UID waits for and how static pods
// share a name is the table's: see package lifecycle.
//
// # Differences from the kubelet
//
// Everything else is as upstream. The statement is the kubelet's behaviour.
//
//   - UpdatePod returns an error, for nonsense too; the kubelet panics. [B-003]
//   - A Completion takes the place of a channel to be closed, and is resolved
//     where that channel stays open for ever: kubernetes#118679. [B-040, B-041,
//     B-127]
//   - An idle pod has no goroutine. The kubelet keeps one for each pod, about
//     5 KB. [B-004, B-060]
//   - The workers fill and drain their queue by themselves, for orphans and
//     runtime-only pods too. In the kubelet the sync loop drops the entries of
//     pods that have left config: kubernetes#107483. [B-019, B-113, B-144]
//   - Freshness is a number and not a time, waiting for it ends with the
//     context, and it outlives the pod's record. Of forgotten pods only the
//     newest number is kept: a new pod may wait for an observation that an
//     older one would have needed, but never sees what was seen of another
//     life of its UID. [B-057, B-083, B-095]
//   - A kill is tried without a fresh status, with what was last seen: a sick
//     runtime stops starts and not kills. [B-085]
//   - A call's context ends with the call. The kubelet's outlives it, and in
//     1.36.0 was never ended at all: kubernetes#139823. [B-061]
//   - A panic is contained; in the kubelet it ends the process. [B-096]
//   - Errors say what they are by type: Terminal, RetryAfter, and
//     runtime.ErrNetworkNotReady. The kubelet compares texts. [B-100, B-101]
//   - A runtime that has not done with an earlier call for the same attempt
//     (runtime.ErrExists) is asked again after the transient backoff: an agent that
//     was started again meets the calls of the one before. The kubelet comes back
//     after ten seconds. [B-100]
//   - An error that tends to be over soon is retried after 1, 2, 4, 8 and 10 seconds,
//     as often as it comes in a row. The kubelet retries each second. [B-100]
//   - A change that the runtime shows ends the backoff of a failed sync only if it is
//     more than the echo of that (UpdatePodOptions.Observation): a record that a failing
//     attempt leaves behind would bring about the next one, without end. Updates,
//     kills and requests end it always. The kubelet syncs at once. [B-104]
//   - A pod that failed because the runtime could not be asked
//     (runtime.ErrNotReady) is woken as soon as that answers about the pod, if
//     somebody tells so: Observed. To ask with a sync each second instead would
//     tell people of each attempt. The kubelet waits for ten seconds. [B-102]
//   - A retry asked for now, or for the past, comes after the transient backoff.
//     The kubelet looks at its queue once a second; without that, or a floor, a
//     syncer could spin. [B-101]
//   - Limits for concurrent calls; the kubelet has none. [B-082]
//   - No post-sync callback: whoever wants to have a pod observed asks the
//     cache. [B-087]
package podworkers
