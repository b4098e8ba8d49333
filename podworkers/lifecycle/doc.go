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
//	EndBackoff          the runtime shows a change             podworkers, after OpCompare
//	RuntimeAnswered     the runtime answered about a pod       podworkers.Observed
//	RuntimeSilent       the runtime did not answer             podworkers.Observed
//	Shutdown            the agent stops                        podworkers
//	View, Owner         queries                                any caller
//
// A record is one pod in the table, and a Ref identifies it. A Ticket identifies one Kill. An
// effect is an action that the shell must perform, for example OpWake: start a worker.
//
// # Stages
//
//	             termination requested           a worker starts the termination
//	unknown --> syncing ----------> requested ----> terminating
//	             |                                   ^    |
//	             |     SyncPod reports: completed    |    | containers stopped
//	             +-----------------------------------+    v
//	unknown <---------------------- finished <------- terminated
//	      not desired (SyncKnown)     |  cleanup done
//	                                  +--> next incarnation, if one waits
//
//	unknown --> requested     the first update requests termination, or kills a pod that only the
//	                          runtime shows
//	unknown --> terminated    the first update has a terminal phase, and the runtime runs nothing
//	requested --> finished    a static pod that never started and was not found in the runtime. The
//	                          syncer is not called. OpPhase is emitted for Terminating and
//	                          Finished. A terminated pod of this kind is finished at once too.
//	any stage --> unknown     not desired, never started and not found in the runtime; an open
//	                          ticket is resolved with NeverStarted
//	terminating --> unknown   the containers of a pod that only the runtime knew are stopped
//	terminating --> next      the same, and a pod from a source waits under the UID: OpPromote is
//	                          emitted, but neither OpPhase nor OpForget for the old incarnation
//
// A pod only moves forward, or to its next incarnation. A test compares the transition table in
// phase.go with internal/figure/stages.svg, which shows the same moves. The stages "requested" and
// "terminating" are one Phase, Terminating. In "requested" a SyncPod may still run.
// IsPodTerminationRequested is true in both, ShouldPodContainersBeTerminating only in the second.
// The stage selects the method of the syncer: SyncPod in syncing, SyncTerminatingPod in
// terminating, SyncTerminatedPod in terminated. For a pod that no source has delivered,
// SyncTerminatingRuntimePod replaces SyncTerminatingPod.
//
// Each record also has an activity, so that a pod never has two workers. A ready record becomes
// idle without StartPodSync if its pod is finished or forgotten first.
//
//	idle -- OpWake --> ready -- StartPodSync --> running -- Done --> idle
//
// A termination cannot be undone. Its grace period only becomes shorter. An update that shortens it
// cancels the running SyncTerminatingPod. The worker then calls it again with the shorter period.
//
// A failed call waits for its backoff. An echo is a change in the runtime that the failed call
// itself has made, for example a new sandbox; it does not end the backoff. A call that failed
// because the runtime did not answer is repeated, once per outage, when it answers about the pod.
//
// # Contract of the caller
//
// The caller makes one call at a time. Every method except RuntimeSilent and the queries appends
// effects to a buffer. The Disposition of an update says what the caller does with its content,
// that is, the pod object. If it is Current, the caller replaces the pod's content. If it is
// Queued, the caller keeps the content until OpPromote, perhaps in the same buffer, or OpDiscard.
// If it is Ignored, the caller drops the content; the update may have terminated the pod
// nevertheless. Then the caller performs the effects in order. The table identifies content by a
// generation number, and Work.Generation is always the number of the current content. Effects may
// be performed late: a stale wake-up, a Ref of a forgotten pod and a result of an earlier
// incarnation do no harm.
//
// # Incarnations
//
// A pod object that is created again under the same UID is the next incarnation of the UID. If the
// present incarnation must terminate first, the next one waits for it. It has the next number. The
// number of a UID without a record is one more than the highest number of all forgotten records, so
// no UID gets a number twice.
package lifecycle
