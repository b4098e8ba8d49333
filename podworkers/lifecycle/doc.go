// Package lifecycle is the pod state machine as a value. A Table holds all pods of a node,
// takes inputs and returns effects. It has no lock, no goroutine, no clock and no content
// of any pod, so it can be replayed, explored and drawn. Package podworkers is the shell
// around it: the shell has all of these and decides nothing.
//
//	Update, Kill        what a pod should do now              podworkers.UpdatePod
//	StartPodSync, Done  a worker begins and ends a call       the goroutine of a pod
//	Due                 a pod's time in the queue has come    the timer
//	SyncKnown           the whole desired state               housekeeping
//	View, Owner         questions                             any caller
//
// # Phases
//
//	           Update                      asked            begun
//	unknown ----------> syncing ------------------> requested ----> terminating
//	   ^                 |  |  at its own end: Completed                ^   |
//	   |                 |  +-------------------------------------------+   | nil error
//	   |                 | a static pod that waits for its name             v
//	   |                 +---------------------------> finished <------ terminated
//	   |                                                |    |    nil        ^
//	   +----- SyncKnown: not desired -------------------+    |               |
//	   ^                                                     v               |
//	   +----- runtime only: nil error         next incarnation, if one waits |
//	                                                                         |
//	unknown -- Update: terminal phase, and nothing runs ---------------------+
//
// Phases only move to the right, or on to another incarnation; phase.go has the table.
// "requested" and "terminating" are one Phase, Terminating: between the two a SyncPod may
// still run, and only IsPodTerminationRequested tells them apart. The phase alone decides
// which method is called: SyncPod in syncing, SyncTerminatingPod in terminating
// (SyncTerminatingRuntimePod for a pod that only the runtime knows), SyncTerminatedPod in
// terminated.
//
// Each record also has an activity, so that a pod never has two workers:
//
//	idle -- OpWake --> ready -- StartPodSync --> running -- Done --> idle
//
// Four flags are sticky, that is, they stay true for one incarnation: started, observed by
// the runtime, deleted, evicted.
//
// # Contract of the caller
//
// One call at a time. Every method appends effects to a buffer. The caller acts on the
// Disposition first: it replaces the present content by content that is Current, keeps content
// that is Queued until OpPromote (perhaps in the same buffer) or OpDiscard, and drops
// content that is Ignored. Then it performs the effects in order. The table knows content
// only by its generation, and Work.Generation is always that of the present content.
// Effects may be performed late: a stale wake-up, a Ref of a forgotten pod and a result of
// an earlier incarnation do no harm.
//
// # Incarnations
//
// The incarnations of a UID are numbered 1, 2, 3. After a record was forgotten, new numbers
// begin above every number that a forgotten record had, so a UID never has a number twice.
// A UID that is created again while its pod terminates waits as the next incarnation, which
// begins when the present one has finished.
package lifecycle
