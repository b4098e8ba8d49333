// Package syncloop is the sync loop of a node: it decides which handler is called when. Loop waits
// until something has to be done and calls a SyncHandler. Handlers is the standard SyncHandler, with
// the kubelet's rules for changes of the desired state. PodAdmitHandlers decide which pods may run.
//
//	source.Mux ──desired──▶┐                      ┌─▶ podmanager (first: the desired pods)
//	pleg ───── changes ───▶│                      ├─▶ allocation (new pods)
//	prober ─── results ───▶│ Loop ──▶ SyncHandler ┼─▶ podworkers (never waits)
//	RequestSync ──────────▶│                      ├─▶ status (rejections)
//	a deadline ────────────┤                      └─▶ gc (what may be removed)
//	after a change ────────┘
//
// Everything that wakes the loop is level-triggered: it is a set or a difference that the loop reads
// in its next step. So no event is lost, no sender blocks, and an idle loop does nothing. All handlers
// run on the goroutine of the loop, in the fixed order of Step: desired state, runtime changes, probe
// results, requested syncs, deadlines, waiting pods, housekeeping. A panic fails one call for one pod,
// and housekeeping repeats it. After a second panic of an admission handler the pod is rejected.
//
// # Housekeeping
//
// HandlePodCleanups compares the desired pods (podmanager), the workers (podworkers) and the running
// pods (pleg). It runs shortly after a change, at most once per period, and again after a period if it
// failed. An idle node needs no housekeeping. Its order is the kubelet's: workers, statuses, mirrors,
// restarts, deleted pods, orphans. It performs no IO: package gc removes files and records, and checks
// each UID again before it does.
//
// A missing pod proves something only if its source is complete. A complete source authorises the kill
// of its own pods. Statuses and mirrors are removed when all sources have delivered. A pod whose
// sandboxes name no known source is killed when all sources are complete.
//
// # Admission
//
// The claims of a pod (requests, host ports, full name) count from its admission until its containers
// have stopped. A new pod that is refused only because of terminating pods waits: it is Pending with
// reason AdmissionDeferred, and its message names those pods. The loop decides about waiting pods in
// order of arrival, and their claims count like the claims of running pods. A waiting pod of an API
// server is rejected after the longest grace period of those pods and 30 s. Other pods wait without a
// limit. Handlers.NotifyWorkerChange reports a change of a worker. In a program that never calls it,
// housekeeping is repeated once per period while a pod waits or the worker of an undesired pod exists.
//
// Package allocation decides, and HandlersConfig.Admit is its chain. AdmitRule makes a handler from a
// rule that declares the claims of a pod: its cost does not depend on the number of pods. Any other
// handler is called for each pod, and its panic is contained.
//
// With HandlersConfig.WhenFull a pod that does not fit beside pods that are not terminating waits too,
// and waiting pods are ordered by priority. Fits calls the same chain from any goroutine and returns
// every reason. Both are experimental.
//
// A rejection stays until the source removes the pod or adds it again. For a pod that is not static it
// also survives restarts of the agent (HandlersConfig.SaveTerminalStatus). A rejected pod has no worker
// and no claims. If it runs, because an earlier agent has started it, it is killed like an orphan. When
// it is deleted it gets a worker, which has nothing to stop.
//
// # Resizes
//
// podmanager stores an admitted pod with its allocated resources. If its source desires others, package
// allocation accepts, defers or refuses the resize, and the pod has the condition PodResizePending or
// PodResizeInProgress. Without HandlersConfig.Resizes no pod of an API server is resized.
//
// # Restarts of the agent
//
// At its start the loop waits at most three seconds for the first snapshot of each source and of the
// runtime. A pod that runs is not admitted again. A running pod that its source does not name keeps
// running for HandlersConfig.OrphanGrace, 30 s by default, because its manifest may be late; an event
// NotDesired reports it. It is killed at once if another pod needs its name or a host port. A pod with
// a saved terminal status (HandlersConfig.TerminalStatus) is not started.
//
// # Deadlines
//
// Deadlines has one heap entry per started pod with activeDeadlineSeconds. When the entry is due, the
// pod is terminated within its own grace period and is Failed. The start time is in the pod's status,
// so the time also counts while no agent runs.
//
// # Types
//
// Handlers acts: it is called by the loop and calls the workers. podStates has the records and the
// allocations, nodeView reads the workers, the manager and the runtime, orphans defers and performs
// kills of orphans, and unstartedPods publishes the statuses of pods without a worker.
package syncloop
