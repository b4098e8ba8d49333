// Package syncloop is the rhythm of a node: it decides who is called when. Loop waits until
// there is something to do and calls a SyncHandler. Handlers is the standard SyncHandler,
// with the kubelet's rules for changes of the desired state. PodAdmitHandlers decide which
// pods may run.
//
//	source.Mux ──desired──▶┐                      ┌─▶ podmanager (first: the desired pods)
//	pleg ───── changes ───▶│                      ├─▶ allocation (new pods)
//	prober ─── results ───▶│ Loop ──▶ SyncHandler ┼─▶ podworkers (never waits)
//	RequestSync ──────────▶│                      ├─▶ status (rejections)
//	a deadline ────────────┤                      └─▶ gc (what may be removed)
//	after a change ────────┘
//
// Everything that wakes the loop is level-triggered: a set or a difference that the loop
// reads when it gets to it. Nothing is lost, no sender is blocked, and a loop without work
// does nothing. All handlers run on the loop's goroutine, in the fixed order of Step:
// desired state, runtime changes, probe results, requested syncs, deadlines, waiting pods,
// housekeeping. A panic costs one pod one call, and housekeeping repeats it. An admission
// handler that panics twice has refused.
//
// # Housekeeping
//
// HandlePodCleanups compares what is desired (podmanager), what is worked on (podworkers)
// and what runs (pleg). It runs a moment after something has changed, at most once per
// period, and again after a period if it failed; an idle node has nothing to compare. Its
// order is the kubelet's: workers, statuses, mirrors, restarts, deleted pods, orphans. It
// does no IO: package gc removes, and asks again under each UID.
//
// A missing pod proves something only if its source is complete. A complete source
// authorises kills of its own pods. Statuses and mirrors are cleaned up when all sources
// have delivered. A pod whose sandboxes name no known source is terminated when all sources
// are complete.
//
// # Admission
//
// What a pod takes of the node (requests, host ports, its full name) counts from its
// admission until its containers have stopped. A new pod that is refused only because of
// terminating pods waits: it is Pending with reason AdmissionDeferred, and its message
// names the pods that have to end. Waiting pods are asked in order of arrival and count
// like running ones. A pod of an API server waits for the longest grace period of those
// pods and 30 s, and is rejected then; any other pod waits without limit. Handlers.NotifyWorkerChange
// reports a change of a worker; without it pods wait for the next housekeeping.
//
// Package allocation decides, and HandlersConfig.Admit is its chain. AdmitRule makes a handler of a
// rule that declares what a pod claims: it costs the same for any number of pods. Any other handler is
// asked about each pod, and its panic is contained.
//
// With HandlersConfig.WhenFull a pod that does not fit beside pods that need not end waits
// too, and all that wait do so in order of priority. Fits asks the same chain from any
// goroutine, and returns every reason. Both are experimental.
//
// A rejection stays until the source removes the pod or adds it again, also over restarts if the
// pod is not static (HandlersConfig.SaveTerminalStatus). A rejected pod has no
// worker and takes no room. If it runs, from before the agent was started, it is terminated
// like an orphan. A deletion timestamp gives it a worker that finds nothing to stop.
//
// # Restarts of the agent
//
// At its start the loop waits, for three seconds at most, for the first snapshot of each
// source and of the runtime. What already runs is not asked for admission again. A pod that
// runs and that its source does not name goes on for HandlersConfig.OrphanGrace, 30 s by
// default, because its manifest may be late, with an event NotDesired; it is terminated at
// once if a pod needs its name or a host port. A pod that had ended under an earlier agent,
// as HandlersConfig.TerminalStatus tells, is not started.
//
// # Deadlines
//
// Deadlines holds one heap entry per pod that has activeDeadlineSeconds and has started.
// When the entry is due the pod is terminated, within its own grace period, and is Failed. The
// start time comes from the pod's status, so the time also passes while no agent runs.
package syncloop
