package node

import (
	"context"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/dirty"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// PodState is the state of a pod at one moment.
type PodState struct {
	// Pod is a copy of the desired pod with its newest status. A pod with running containers never has
	// a terminal status here: it is shown as Terminating.
	Pod *v1.Pod
	// Terminating reports that the pod terminates and may have running containers.
	Terminating bool
	// Version counts the statuses of the pod; 0 is none. If the versions of two yielded states differ
	// by more than one, the caller has missed the states between them.
	Version uint64
	// StatusEpoch is different for each incarnation of the UID that has a status. Statuses of different
	// epochs are unrelated. It never decreases.
	StatusEpoch uint64
	// Gone reports that the pod is no longer desired and has no worker. This is its last state.
	Gone bool

	original *v1.Pod // Pod is a copy of this object, which is never modified
	// hasNoStatusYet reports that this incarnation has no status yet. The stored status is the previous incarnation's.
	hasNoStatusYet     bool
	hidesTerminalPhase bool // the stored status is terminal, which is not shown yet
}

// Summary returns the state of the pod on one line.
func (s PodState) Summary() Summary { return Summarize(s.Pod, s.Terminating) }

// Watch yields the state of every pod of the node, and then the new state of each pod that changes,
// until ctx ends or the caller breaks the loop. A slow caller misses intermediate states, but never the
// newest one. After ctx has ended, Watch still yields the changes from before that. Any number of
// goroutines may watch at once, before and after Run too.
//
// While the body of the loop blocks, the node stores each pod that changes, also removed pods. Break
// the loop instead of blocking in it.
func (n *Node) Watch(ctx context.Context) iter.Seq[PodState] {
	return func(yield func(PodState) bool) {
		w := n.view.addWatcher()
		defer n.view.removeWatcher(w)
		for last := false; ; {
			for _, state := range w.takeChangedStates(n.view) {
				state.Pod = state.Pod.DeepCopy()
				if !yield(state) {
					return
				}
			}
			if last {
				return
			}
			err := w.event.Wait(ctx)
			if err != nil && ctx.Err() == nil {
				return // The simulated process has crashed.
			}
			last = err != nil
		}
	}
}

// Pods returns a copy of every pod of the node with its newest status. Undesired pods whose containers
// have not stopped come first; they have a deletion timestamp. The desired pods follow in the order of
// their arrival. A pod of an earlier agent that no source has delivered has only the fields that the
// runtime knows. A terminal status is shown when no container of the pod runs.
func (n *Node) Pods() []*v1.Pod {
	desired := n.manager.GetPods() // Read first, so that a pod that is deleted meanwhile is in at least one of the lists.
	pods := n.view.listTerminatingUndesiredPods(desired)
	for _, pod := range desired {
		pods = append(pods, n.view.podWithStatus(pod))
	}
	return pods
}

// podWithStatus returns a copy of the pod with its newest status. If the pod waits for admission, the copy is
// Pending with the reason of the wait. If the stored status belongs to an earlier pod with the same UID, the
// copy is Pending.
func (v *podsView) podWithStatus(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	s, ok := v.status.GetReportedPodStatus(pod.UID, v.mayHaveRunningContainers)
	deferral, waits := v.handlers.Deferred(pod.UID)
	view := v.workers.View(pod.UID)
	switch {
	case waits:
		pod.Status = v1.PodStatus{Phase: v1.PodPending, Reason: deferral.Reason, Message: deferral.Message}
		if s.Phase == v1.PodPending && s.Reason == deferral.Reason { // The status is of this incarnation.
			pod.Status.QOSClass, pod.Status.Conditions = s.QOSClass, s.Conditions
		}
	case isStatusOfEarlierIncarnation(view, v.status.PodIsFinished(pod.UID)):
		pod.Status = v1.PodStatus{Phase: v1.PodPending}
	case ok:
		pod.Status = s
	}
	return pod
}

// isStatusOfEarlierIncarnation reports whether the newest status belongs to an earlier pod with the same UID.
// Either that pod still terminates, or it has finished and the worker of the present pod has not written a
// status yet.
func isStatusOfEarlierIncarnation(view lifecycle.View, statusFinished bool) bool {
	return view.RestartRequested || statusFinished && hasUnfinishedWorker(view)
}

// viewMayHaveRunningContainers reports whether the pod has a worker and may have running containers.
func viewMayHaveRunningContainers(view lifecycle.View) bool {
	return view.Known && view.CouldHaveRunningContainers()
}

// hasUnfinishedWorker reports whether the pod has a worker and its containers have not all stopped for good.
func hasUnfinishedWorker(view lifecycle.View) bool { return view.Known && !view.IsPodKnownTerminated() }

// watcher is one call of Watch. changed has the pods that have changed since the last call of
// takeChangedStates.
type watcher struct {
	event    interface{ Wait(context.Context) error }
	changed  *dirty.Set[struct{}]
	statuses status.Subscription
	newest   map[types.UID]status.Update
	shown    map[types.UID]PodState
}

// addWatcher adds and returns a watcher with a new event. Each change of a pod signals the event.
func (v *podsView) addWatcher() *watcher {
	event := v.executor.NewEvent()
	return v.addWatcherNotifiedOfPodChanges(event, event.Signal)
}

// addWatcherNotifiedOfPodChanges adds and returns a watcher for one call of Watch. That call waits for event between two
// deliveries. Each later change of a pod or of a pod's status calls notify, which must signal event. All desired
// pods count as changed for a new watcher.
func (v *podsView) addWatcherNotifiedOfPodChanges(event interface{ Wait(context.Context) error }, notify func()) *watcher {
	w := &watcher{event: event, newest: make(map[types.UID]status.Update), shown: make(map[types.UID]PodState)}
	w.changed = dirty.New(func(_, _ struct{}) struct{} { return struct{}{} }, notify)
	w.statuses = v.status.Subscribe(notify)
	for _, pod := range v.manager.GetPods() {
		w.changed.Add(pod.UID, struct{}{})
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.watchers = append(v.mu.watchers, w)
	return w
}

// removeWatcher removes a watcher and closes its subscription to statuses.
func (v *podsView) removeWatcher(w *watcher) {
	w.statuses.Close()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.watchers = slices.DeleteFunc(slices.Clone(v.mu.watchers), func(x *watcher) bool { return x == w })
}

// notifyWatchers marks the pod as changed in every watcher, so that each watcher computes the state of the pod
// again.
func (v *podsView) notifyWatchers(uid types.UID) {
	v.mu.Lock()
	watchers := v.mu.watchers
	v.mu.Unlock()
	for _, w := range watchers {
		w.changed.Add(uid, struct{}{})
	}
}

// takeChangedStates returns the state of each pod whose state has changed since the last call. The states share
// their contents with the node and must not be modified.
func (w *watcher) takeChangedStates(v *podsView) []PodState {
	w.collectStatusUpdates()
	var states []PodState
	for _, c := range w.changed.TakeAll(nil) {
		from, wanted := v.manager.GetPodByUID(c.UID) // Read before the worker, because a new pod has no worker yet.
		view, newest := w.readWorkerAndStatus(v, c.UID)
		if state, ok := newPodState(from, wanted, view, newest, w.shown[c.UID]); ok {
			states = append(states, state)
			w.storeOrDropShown(c.UID, state)
		}
	}
	return states
}

// readWorkerAndStatus returns the worker's view of the pod and then its newest status. If the pod has no
// running containers and its status is not final, it collects new statuses and reads both again, so that it
// does not miss the last status.
func (w *watcher) readWorkerAndStatus(v *podsView, uid types.UID) (lifecycle.View, status.Update) {
	view, newest := v.workers.View(uid), w.newest[uid]
	if !viewMayHaveRunningContainers(view) && !newest.Finished {
		w.collectStatusUpdates()
		view = v.workers.View(uid)
		if newer, ok := w.newest[uid]; ok {
			newest = newer
		}
	}
	return view, newest
}

// collectStatusUpdates stores the newest status of each pod whose status has changed, and marks these pods as
// changed. If a status was removed from the status store, it deletes the stored copy.
func (w *watcher) collectStatusUpdates() {
	for _, s := range w.statuses.TakeAll(nil) {
		if s.Removed {
			delete(w.newest, s.UID) // Otherwise the entry of a pod that was shown as Gone would stay for ever.
		} else {
			w.newest[s.UID] = s
		}
		w.changed.Add(s.UID, struct{}{})
	}
}

// storeOrDropShown stores the state that the caller has received for a pod. If that state is Gone, it deletes
// the stored state and status of the pod instead.
func (w *watcher) storeOrDropShown(uid types.UID, state PodState) {
	if state.Gone {
		delete(w.shown, uid)
		delete(w.newest, uid)
		return
	}
	w.shown[uid] = state
}

// newPodState combines the desired pod, the worker's view and the newest status into the state that Watch
// shows. A pod that is no longer desired keeps the spec in shown, and a terminating pod shows the spec in the
// newest status. It hides a new terminal phase while containers may run. It returns false if there is no spec,
// or if the state equals the state shown before.
func newPodState(original *v1.Pod, desired bool, view lifecycle.View, newest status.Update, shown PodState) (_ PodState, changed bool) {
	if !desired {
		original = shown.original
	}
	if original == nil {
		return PodState{}, false // It was never desired, or was shown as Gone.
	}
	if view.IsPodTerminationRequested() && newest.Pod != nil {
		original = newest.Pod // The terminating incarnation is shown, not its successor.
	}
	state := PodState{
		Terminating: view.IsPodTerminationRequested() && view.CouldHaveRunningContainers(),
		Gone:        !desired && !view.Known,
		original:    original,
	}
	state.setStatusVersionAndEpoch(view, desired, &newest, &shown)
	state.hidesTerminalPhase = viewMayHaveRunningContainers(view) && hideNewTerminalPhase(&newest, &shown)
	if shown.Pod != nil && state.isSameAs(shown) {
		return PodState{}, false
	}
	pod := *original
	switch {
	case state.hasNoStatusYet:
		pod.Status = v1.PodStatus{Phase: v1.PodPending}
	case newest.Version > 0:
		pod.Status = newest.Status
	case shown.Version > 0: // The status was dropped; the shown one was the last. Otherwise the pod's own status counts.
		pod.Status = shown.Pod.Status
	}
	state.Pod = &pod
	return state, true
}

// setStatusVersionAndEpoch sets Version and StatusEpoch so that neither is less than in the shown state.
// StatusEpoch counts the pods that used the UID one after the other. If the desired pod has no status of its
// own yet, it sets hasNoStatusYet, and StatusEpoch is the number that its first status will have.
func (s *PodState) setStatusVersionAndEpoch(view lifecycle.View, desired bool, newest *status.Update, shown *PodState) {
	s.Version, s.StatusEpoch = max(newest.Version, shown.Version), max(newest.StatusEpoch, shown.StatusEpoch)
	forgotten := newest.Version == 0 && shown.Pod != nil && shown.Version > 0
	switch {
	case view.IsPodTerminationRequested() || !desired || !hasUnfinishedWorker(view):
	case newest.Version > 0 && newest.Finished:
		s.hasNoStatusYet, s.StatusEpoch = true, max(newest.StatusEpoch+1, shown.StatusEpoch)
	case forgotten && shown.hasNoStatusYet:
		s.hasNoStatusYet = true
	case forgotten:
		s.hasNoStatusYet, s.StatusEpoch = true, shown.StatusEpoch+1
	}
}

// hideNewTerminalPhase replaces the terminal phase in the newest status of a pod by a non-terminal one; hidden
// is true if it did. It changes nothing if the same pod was already shown with a terminal phase. The caller
// calls it while containers of the pod may run.
func hideNewTerminalPhase(newest *status.Update, shown *PodState) (hidden bool) {
	phase := newest.Status.Phase
	if !podstatus.IsTerminal(phase) {
		return false
	}
	if shown.Pod != nil && shown.StatusEpoch == newest.StatusEpoch && podstatus.IsTerminal(shown.Pod.Status.Phase) {
		return false
	}
	newest.Status = *newest.Status.DeepCopy()
	newest.HoldBackTerminalPhase()
	return newest.Status.Phase != phase
}

// isSameAs reports whether two states are equal except for Pod, the object shown. It is enough to compare the
// original pod by pointer and the status by version, because neither is ever modified in place.
func (s PodState) isSameAs(other PodState) bool {
	other.Pod = s.Pod
	return s == other
}
