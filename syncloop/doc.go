// Package syncloop is the node's rhythm: who is called when. Loop waits until
// there is something to do and calls a SyncHandler for it; Handlers are the
// standard one, with the kubelet's rules for what a change of the desired state means;
// PodAdmitHandlers decide who may run.
//
//	source.Mux ──desire──▶┐                      ┌─▶ podmanager (first: what is wanted)
//	pleg ───── changes ──▶│                      ├─▶ admission (new pods only)
//	prober ─── results ──▶│ Loop ──▶ SyncHandler ┼─▶ podworkers (never waits)
//	anyone ─── RequestSync ──▶│                      ├─▶ status (rejections)
//	a deadline ───────────┤                      └─▶ gc (what may go)
//	after a change ───────┘
//
// Everything that wakes the loop is level-triggered: a set or a difference that
// the loop takes when it comes to it. Nothing can be lost, nobody who brings
// something is ever blocked, and a loop with nothing to do does nothing, for
// hours. All handlers run on the loop's goroutine, in the fixed order of Step.
// A panic in what they call costs one pod one call, and housekeeping repeats it. An
// admission handler that panics is asked once more by the next housekeeping; if it
// panics again it has refused.
//
// # Housekeeping
//
// HandlePodCleanups compares three snapshots: what is desired (podmanager), what
// is worked on (podworkers), what runs (pleg). The last was gathered off the
// loop, by the PLEG; the decisions are taken here, against desire as it is now;
// what they destroy is destroyed off the loop again (package gc), which asks
// once more under each UID. The order is the kubelet's: the workers' snapshot,
// statuses, mirrors, restarts, deleted pods, orphans. Restarts come before
// orphans, or the pod of a re-used UID would be taken for an orphan
// (kubernetes/kubernetes#113145).
//
// It runs a moment after something has changed (a source spoke, a pod moved in
// the runtime, a worker finished), at most once per period, again after a
// period if it failed, and never when nothing has changed.
//
// Who may conclude what from absence: a source that is complete, about its own
// pods; all sources together, once each has spoken, about statuses and mirrors.
// A pod whose sandboxes name no source, or one that the node does not have any
// more, may be anybody's: it is ended when all sources are complete. What is
// left of a pod goes when both are given, since a source with a broken file is
// heard, and the pod in that file must not run a second time.
//
// # Pods that are ending, and pods that wait for them
//
// What a pod takes of the node (its requests, its host ports, its name) counts from
// its admission until its containers have stopped: also of a pod that has left the
// configuration, has a deletion timestamp, was evicted, was refused though it ran, or
// is known to the runtime only. Of the last kind the sandbox tells what it takes.
//
// A new pod that admission refuses is asked about again, without the pods that are
// ending. If it is admitted then, it waits: it is Pending with reason
// AdmissionDeferred, and its message names the pods that have to end. Pods wait in
// order of arrival. One that waits counts like one that runs, so no later pod takes
// what it needs. A pod of an API server (HandlersConfig.FromAPIServer) waits for the
// longest grace of those pods and 30 s more, and is rejected then; any other waits
// for as long as it takes. Handlers.Note has to be called when the workers know
// something new; without it pods wait for the next housekeeping.
//
// # What a former agent has left
//
// A pod that runs when the agent starts, and that its source does not name when it is
// complete for the first time, may only be late: the directory of manifests is mounted
// after the agent has started, or is still being filled. It goes on for
// HandlersConfig.OrphanGrace, 30 s by default, and nothing that such an agent has left
// is discarded before that is over. An event says so, with reason NotDesired. A pod
// that is admitted, or waits, and needs its full name or one of its host ports ends it
// at once. A pod that a source has named and names no longer has no such grace.
//
// # Rejected pods
//
// A refusal is latched: neither an update, nor a sync, nor housekeeping starts
// the pod, and it takes up no room in the eyes of admission. The latch ends
// when the source removes the pod, or adds it anew, which is a new question. A
// deletion timestamp gives the pod a worker that finds nothing to stop and lets
// it go. If the pod runs, from before the agent was started, it is ended like
// an orphan.
//
// # What is over
//
// A pod that had ended under an agent before this one, as HandlersConfig.Ended
// tells, is taken as it would be from an API server that keeps statuses: with its
// end. It is not admitted, since it will not start; what still runs of it is ended.
// What the source itself says of its end comes first.
//
// # Deadlines
//
// Deadlines hold one heap entry per pod that has activeDeadlineSeconds and has
// started. It is set anew with each new start or deadline, and nothing looks at a
// pod in between. When it is due the pod is told to end, once, with its own grace,
// and has Failed. The start is that of the pod's status, so the time goes on
// counting while no agent runs.
//
// # Statements kept
//
// B-128 to B-133, B-138 to B-143, B-218; SL-1, SL-7 to SL-9, SL-12, SL-13,
// SL-15 to SL-21, SL-23 to SL-26; HC-1, HC-2, HC-6 to HC-10, HC-12; AD-1, AD-3, AD-5, AD-8, AD-10; PH-11 and P23 for deadlines; CF-9
// as far as the consumer is concerned. Of the invariants: I40, I42 as far as one
// run of the agent can keep it, I47, I49, I50; F19, F21, F22, F25, and F20 for mirrors that nobody wants.
//
// # Differences from the kubelet
//
//   - What runs when the agent starts was admitted in its time and is not asked
//     again (SL-22, HC-9; kubernetes/kubernetes#123859, 117955). The loop first
//     waits, for three seconds at most, for the first snapshot of each source and
//     of the runtime, and additions of all sources are one batch in which what
//     runs comes first, so that no newcomer takes its place.
//   - A static pod gets no worker while its full name is in use by a pod that the
//     workers' line does not have: one of the agent before, whose source has not
//     spoken yet or which is being ended as an orphan. The kubelet's exclusion
//     knows only the pods of its own process.
//   - If the runtime did not show such a pod at first (F60), both run until it does.
//     Then the one that was there before ends, with its own grace, whatever its source
//     could not read; if it is wanted too it goes to the end of the line.
//   - A node that is Closed, because it drains, gives no pod a worker any more,
//     not even one that was let in before and had to wait for its name; what it
//     still finds running is adopted and ended with its own grace.
//   - The order within a step is fixed: desire, changes of the runtime, probe
//     results, requested syncs, deadlines, pods that wait, housekeeping. The kubelet's is random (B-136, SL-6).
//   - A sick runtime never stops the loop from reading desired state (B-137, SL-2):
//     starts fail by themselves and are retried by their workers, kills go on.
//   - There is no sync tick and no work queue here (B-144, SL-11): the workers
//     own their retries, so those of pods that left the configuration are not
//     dropped (kubernetes/kubernetes#107483).
//   - Housekeeping runs when something has changed, not every period: an idle
//     node has nothing to compare.
//   - Housekeeping does not wait for every source (B-128, SL-14): each source
//     that is complete can be believed about its own pods
//     (kubernetes/kubernetes#105543, 112814). The source of an orphan is read
//     from its sandbox.
//   - What no source names at the start is ended after a grace; by the kubelet as soon
//     as its sources are ready, and it takes an empty directory for the last word.
//   - A removal is acted on at once (B-141 waits for all sources): it is a fact
//     that its source has stated, not an absence that somebody concluded.
//   - A pod that comes back under a UID whose previous incarnation still ends is asked
//     for admission like any other new pod (SL-18 lets it pass unasked).
//   - A rejection is latched here. In the kubelet it is the status Failed, and
//     an update of the pod starts a worker all the same.
//   - A pod that has a worker is active until that knows it to have terminated,
//     whatever its stored status says (HC-7 asks the status as well): that may
//     be of an earlier life of the UID, and a pod that waits for the end of that
//     life has been admitted.
//   - A pod that is wanted and over, and runs without a worker, is ended like an
//     orphan but for the source, as it is for the kubelet (B-132, not HC-9).
//   - A verdict on readiness or startup is written down for a pod that has left
//     the configuration and still runs; only the sync is left out (SL-13).
//   - A pod waits for others that are ending, before it is refused; the kubelet
//     counts only what is in its configuration, and refuses at once: a pod that was
//     removed and still runs takes nothing there, and one with a deletion timestamp
//     has the next one rejected for good.
//   - Admission handlers are asked any number of times about a pod that waits.
//   - A full name is not both a static pod's and another's at once (F19):
//     AdmitNames refuses the later one. The kubelet runs both.
//   - In the host's network every port of a container counts, of ordinary init
//     containers too.
//   - What has left records of another agent behind is not asked again either,
//     even if nothing of it runs: it may be over, and is not refused for that.
//   - Admission by resources looks at what is declared only: a resource that is
//     not is not checked, were it cpu (AD-10 says so of extended ones). Every
//     resource of the allocatable list is treated alike.
//   - A term of node affinity that cannot be understood is a reason of its own
//     for a refusal, if no other term means the node. A toleration without a key
//     tolerates everything only if its operator is Exists.
//   - A pod with scheduling gates is refused; a kubelet is never given one.
//   - A node is not fetched anew when its labels do not fit (AD-6), since they
//     are configuration, and nobody is preempted (AD-7).
//   - A deadline is an entry of a heap, not asked for every second (SL-11, AD-2);
//     its event comes once, and setting the clock of the wall ends nobody.
//   - Reconcile syncs every pod with readiness gates (SL-25 first computes
//     whether its Ready condition would change).
//   - Loop health is about a step that does not end; no step for five minutes
//     (B-145, SL-4) is how an idle node should be.
//   - Dead containers are not removed one by one, nor those of evicted pods
//     (SL-10, the second halves of B-143, B-218 and SL-25): records go with
//     their pod, by package gc.
package syncloop
