// Package lifecycle is the pod state machine as a value: a Table of all pods
// of a node that takes inputs and answers with effects. It has no lock, no
// goroutine, no clock and no content of any pod, so it can be replayed,
// explored and drawn; the shell around it, package podworkers, has all of
// these and decides nothing.
//
//	Update, Kill   what is wanted of a pod now          podworkers.UpdatePod
//	StartPodSync, Done     a runner begins and ends its work    a pod's goroutine
//	Due            a pod's time in the queue has come   the timer
//	SyncKnown      the whole snapshot of the desired state          housekeeping
//	View, Owner    every question at once               anybody
//
// # A life
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
//	   +----- runtime only: nil error             next incarnation, if one waits    |
//	                                                                         |
//	unknown -- Update: terminal phase, and the runtime is quiet -------------+
//
// Everything moves to the right, or on to another incarnation; see moves in phase.go.
// "requested" and "terminating" are one Phase, Terminating: between the two a
// SyncPod may still be running, and only IsPodTerminationRequested tells. The
// work of a stage is SyncPod in syncing, SyncTerminatingPod in terminating
// (SyncTerminatingRuntimePod if only the runtime knows the pod), and
// SyncTerminatedPod in terminated. What is asked of a pod decides the stage;
// the stage, and nothing else, decides the work.
//
// Beside the stage a record has an activity, which is what makes two runners
// of one pod impossible:
//
//	idle -- OpWake --> ready -- StartPodSync --> running -- Done --> idle
//
// and sticky flags, which are facts that never become false in one incarnation: started,
// observed by the runtime, deleted, evicted.
//
// # The contract of the caller
//
// One call at a time. Every method appends effects to a buffer; they are to be
// done in order, after the Verdict was acted on: content that is Current
// replaces the present one, content that is Queued waits for OpPromote (perhaps
// in the same buffer) or OpDiscard, content that is Ignored is dropped. The
// table knows content by its generation only, and Work.Generation is always
// that of the present content, so the caller keeps one content per record, and
// seldom a second. Effects may be done late: a wake-up that is stale, a Ref of a
// forgotten pod and a result of an earlier life are harmless.
//
// # Statements kept
//
// Of the core's behaviours: B-001, B-002 (the caller chooses the Subject),
// B-004 to B-008, B-010 (Update.Quiet), B-011 to B-018, B-020, B-022 to B-026,
// B-028 to B-031, B-033 to B-039, B-042 to B-047, B-050, B-051, B-053 to
// B-056, B-059, B-060, B-062 to B-065, B-067 to B-070, B-072, B-075, B-077, B-078,
// B-080 to B-082, B-088 to B-094, B-099 to B-111, B-114,
// B-118 to B-123, B-126, B-217; the tables 1.2 and 2.23. Of the invariants: I1
// to I4, I6, I8 to I15, I17, I18, I20, I44; I5, I7 and I19 as far as a table can.
//
// # Differences from the kubelet
//
//   - B-003: an update of nothing is ErrInvalid, not a panic.
//   - B-009, B-032: deleted and evicted are sticky whenever they are said, in
//     any order, of a finished pod too. The kubelet keeps only the first.
//   - B-013, B-014: the kill of a running pod that is known by then, and was
//     updated after the runtime was observed (Update.AsOf), is PodDesired; of one
//     that is ending it changes no grace and begins no work. The kubelet asks
//     whether the pod is known, and kills later, and may kill what was wanted
//     in between. If it counts, it counts as a deletion too, ending or not, so
//     that the order makes no difference.
//   - B-019, B-113: orphans and running pods have retries of their own.
//     Housekeeping does not replay anything, so it does not defeat the backoff.
//   - B-021: there is no update that can never start.
//   - B-022, B-023, B-024, B-027, B-110, B-134 (#104648): a UID that is created
//     again while its pod ends is remembered as the next incarnation, which begins
//     the moment the present one is finished. The kubelet notes the wish and
//     waits for housekeeping to forget the pod and for somebody to create it.
//     A kill, a deletion, a terminal phase or absence from desire while it
//     waits ends the wish. An eviction does not, for the pod stays wanted: its
//     life begins with its end, in which it says so. The first update of a pod
//     that only the runtime knew is such a wish as well.
//   - B-041, B-127 (#118679): a ticket is resolved on every way out.
//   - B-040: a ticket is a number, nothing can be closed twice.
//   - B-045, B-048: the grace of the content is in force when none is passed
//     on, so a kill during a natural end can shorten it, not lengthen it
//     (#83916, #113717).
//   - B-049 (#115819, #124405): unset is not zero. A zero counts as one second
//     and can not be lengthened. The grace of a kill is bounded by the pod's.
//   - B-065: a static pod that must end before it ever started does so in the
//     update itself; and if the runtime has shown it, it is stopped first.
//   - B-066: the grace computed for an orphan is passed on.
//   - B-067, B-071, B-074: nobody polls for a full name, and who asks is in the name queue. It is handed over, in order of
//     arrival, to the next one, which is woken.
//   - B-073 (#113091, #112998, #107483): a full name is free when the containers
//     of its pod are stopped, not after the cleanup. For a pod with host ports,
//     SyncTerminatingPod returns nil only when the sandbox is stopped too.
//   - B-079: mirror pods are content, hence the caller's.
//   - B-098: what follows at once is a wake-up, not an entry in the queue.
//   - B-107: the answers about unknown pods switch when all sources have
//     delivered, not with the first call.
//   - B-109: a finished pod never waits for its restart to be forgotten.
//   - B-112: the sync of an orphan is cancelled.
//   - B-115: HasConfig and Static are true of a pod that never started as well.
//   - B-116: a forgotten pod has no place in the name queue to come back to.
//   - B-117: there is no window between waking and taking: the activity is
//     the lock, and records, lives and work carry numbers.
//   - Known.ExcludedSources: pods of a source that is not heard, or not complete, are not
//     ended because they are missing (#105543).
//   - B-065, B-111: a pod that the runtime shows running when it is first seen
//     (Update.Running) counts as started as far as its end is concerned. It was
//     begun by an agent before this one, and gets its SyncTerminatingPod even if
//     it has to end before its first sync.
//   - FailedFinally: an error that no retry mends; the kubelet has none such.
//   - B-104: an observation (Update.Observation) of a pod whose work has failed, or fails
//     after it, does not end the backoff: OpCompare asks whether it is more than the
//     echo of that work, and Changed says that it is. The kubelet syncs at once.
//   - B-102: a pod that failed because the runtime could not be asked (FailedRuntimeUnavailable)
//     has the backoff of any failure, but is woken as soon as the runtime answers
//     about it (RuntimeAnswered): once per silence, so that a runtime which shows the pod,
//     and cannot do what it needs, is not asked in a circle. The kubelet waits for ten seconds.
//
// An incarnation has a number: 1, 2, 3 as the incarnations of one UID follow
// each other. After a record was forgotten, new ones begin above every number
// that a forgotten one has had, so a UID never has the same number twice, and
// nothing has to be remembered of it.
package lifecycle
