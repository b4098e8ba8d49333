// Package syncloop is the node's rhythm: who is called when. Loop waits until
// there is something to do and calls a SyncHandler for it; Handlers are the
// standard one, with the kubelet's rules for what a change of desire means;
// PodAdmitHandlers decide who may run.
//
//	source.Mux ──desire──▶┐                      ┌─▶ podmanager (first: what is wanted)
//	pleg ───── changes ──▶│                      ├─▶ admission (new pods only)
//	prober ─── results ──▶│ Loop ──▶ SyncHandler ┼─▶ podworkers (never waits)
//	anyone ─── Poke ─────▶│                      ├─▶ status (rejections)
//	a period after change ┘                      └─▶ gc (what may go)
//
// Everything that wakes the loop is level-triggered: a set or a difference that
// the loop takes when it comes to it. Nothing can be lost, nobody who brings
// something is ever blocked, and a loop with nothing to do does nothing, for
// hours. All handlers run on the loop's goroutine, in the fixed order of Step.
//
// # Housekeeping
//
// HandlePodCleanups compares three pictures: what is desired (podmanager), what
// is worked on (podworkers), what runs (pleg). The last was gathered off the
// loop, by the PLEG; the decisions are taken here, against desire as it is now;
// what they destroy is destroyed off the loop again (package gc), which asks
// once more under each UID. The order is the kubelet's: the workers' picture,
// statuses, mirrors, restarts, deleted pods, orphans. Restarts come before
// orphans, or the pod of a re-used UID would be taken for an orphan
// (kubernetes/kubernetes#113145).
//
// Who may conclude what from absence: a source that is complete, about its own
// pods; all sources together, about statuses, mirrors and records.
//
// # Statements kept
//
// B-128 to B-134, B-138 to B-143, B-218; SL-1, SL-7 to SL-10, SL-12, SL-13,
// SL-15 to SL-21, SL-23 to SL-26; HC-2, HC-5 to HC-10, HC-12; AD-3; CF-9 as far
// as the consumer is concerned.
//
// # Differences from the kubelet
//
//   - The order within a step is fixed: desire, changes of the runtime, probe
//     results, pokes, housekeeping. The kubelet's is random (B-136, SL-6).
//   - A sick runtime never stops the loop from reading desire (B-137, SL-2):
//     starts fail by themselves and are retried by their workers, kills go on.
//   - There is no sync tick and no work queue here (B-144, SL-11): the workers
//     own their retries, so those of pods that left the configuration are not
//     dropped (kubernetes/kubernetes#107483).
//   - Housekeeping runs a period after something changed, not every period: an
//     idle node has nothing to compare.
//   - Housekeeping does not wait for every source (B-128, SL-14): each source
//     that is complete can be believed about its own pods
//     (kubernetes/kubernetes#105543, 112814). The source of an orphan is read
//     from its sandbox. Only what concerns UIDs that nobody knows waits for
//     all: the answers of podworkers, statuses, mirrors and records.
//   - A removal is acted on at once (B-141 waits for all sources): it is a fact
//     that its source has stated, not an absence that somebody concluded.
//   - A pod that comes back under a UID whose former life still ends is asked
//     for admission like any other new pod (SL-18 lets it pass unasked).
//   - A rejection is latched here, so that neither updates nor housekeeping
//     start the pod; it ends with the pod's removal, and a deletion timestamp
//     gives the pod a worker that lets it go.
//   - Reconcile syncs every pod with readiness gates (SL-25 first computes
//     whether its Ready condition would change).
//   - Loop health is about a step that does not end; no step for five minutes
//     (B-145, SL-4) is how an idle node should be.
//   - Dead containers are not removed one by one (SL-10, the second half of
//     B-143): records go with their pod, by package gc.
package syncloop
