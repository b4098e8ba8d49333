// Package lifecycle is the pod state machine as a plain value. A Table holds all pods of a node. It
// takes updates and results, and returns effects. It has no lock, no goroutine and no clock, and it
// stores no pod object, so it can be replayed, explored and drawn. Package podworkers is the shell
// around it: the shell has all of these and decides nothing.
//
//	method              input                                  caller
//	Update, Kill        the desired state of one pod           podworkers.UpdatePod and Kill
//	StartPodSync, Done  a worker starts and finishes a call    the worker of the pod
//	Due                 the pod's retry or resync is due       the timer of the work queue
//	SyncKnown           the whole desired state                housekeeping
//	View, Owner         queries                                any caller
//
// # Phases
//
//	             termination requested           a worker starts the termination
//	unknown --> syncing ----------> requested ----> terminating
//	   ^         |  |  SyncPod reports: completed       ^    |
//	   |         |  +-----------------------------------+    | containers stopped
//	   |         |                                           v
//	   |         |  a static pod that never started     terminated
//	   |         +----------------> finished <-----------    |
//	   |                              |  |   cleanup done    |
//	   |   not desired (SyncKnown)    |  |                   |
//	   +------------------------------+  +--> next incarnation, if one waits
//
//	unknown --> terminated    the first update has a terminal phase, and nothing runs
//	terminating --> unknown   the containers of a pod that only the runtime knew are stopped
//
// A pod only moves forward, or to its next incarnation; phase.go has the transition table.
// "Requested" and "terminating" are one Phase, Terminating. Between the two a SyncPod may still
// run; IsPodTerminationRequested is true in both, ShouldPodContainersBeTerminating only in the
// second. The phase alone decides which method of the syncer is called: SyncPod in syncing,
// SyncTerminatingPod in terminating (SyncTerminatingRuntimePod for a pod that only the runtime
// knows), SyncTerminatedPod in terminated.
//
// Each record also has an activity, so that a pod never has two workers:
//
//	idle -- OpWake --> ready -- StartPodSync --> running -- Done --> idle
//
// Four facts about an incarnation are sticky, that is, they stay true once they are true: it has
// started, the runtime has shown it, it was deleted, it was evicted.
//
// # Contract of the caller
//
// The caller makes one call at a time. Every method appends effects to a buffer. The caller first
// acts on the Disposition of the update. If it is Current, the caller replaces the pod's content.
// If it is Queued, the caller keeps the content until OpPromote, perhaps in the same buffer, or
// OpDiscard. If it is Ignored, the caller drops the content. Then the caller performs the effects
// in order. The table identifies content by a generation number, and Work.Generation is always the
// number of the current content. Effects may be performed late: a stale wake-up, a Ref of a
// forgotten pod and a result of an earlier incarnation do no harm.
//
// # Incarnations
//
// A pod object that is created again under the same UID is the next incarnation of the UID. If the
// present incarnation is still terminating, the next one waits and starts when the present one has
// finished. Incarnations are numbered 1, 2, 3. A new number is higher than every
// number of a forgotten record, so no UID gets a number twice.
package lifecycle
