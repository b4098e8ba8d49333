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

// PodState is a pod as the node knows it.
type PodState struct {
	// Pod is a copy of the desired pod, with its newest status. That a pod has ended is
	// shown when nothing of it runs any more; until then it is Terminating.
	Pod *v1.Pod
	// Terminating: the termination of the pod has begun and has not ended.
	Terminating bool
	// Version counts what has been said of the pod's status; 0 is nothing. If
	// two states that Watch yields are more than one apart, others came
	// between.
	Version uint64
	// StatusEpoch tells the statuses of different incarnations of the UID apart, as far
	// as they have a status: statuses of different epochs are unrelated. It never goes
	// down.
	StatusEpoch uint64
	// Gone: the pod is neither desired nor present any more. This is its last state.
	Gone bool

	original *v1.Pod // what Pod is a copy of: an object that is never changed
	// noStatus: this incarnation has no status yet; what there is was said of the one before.
	noStatus  bool
	endHidden bool // the status tells of the end, which is not shown yet
}

// Summary is the pod on one line.
func (s PodState) Summary() Summary { return Summarize(s.Pod, s.Terminating) }

// Watch yields the state of every pod of the node, and then the new state of each pod that changes,
// until ctx ends or the caller breaks the loop. A slow reader misses states in between, but never
// the newest one. After ctx has ended, Watch still yields the changes from before that. Any number
// of goroutines may watch at once, before and after Run too.
//
// While the body of the loop does not return, the node remembers each pod that changes, also pods
// that are gone. Break the loop instead of blocking in it.
func (n *Node) Watch(ctx context.Context) iter.Seq[PodState] {
	return func(yield func(PodState) bool) {
		w := n.view.newWatcher()
		defer n.view.removeWatcher(w)
		for last := false; ; {
			for _, state := range w.changedStates(n.view) {
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
				return // A crash, in a simulation.
			}
			last = err != nil
		}
	}
}

// Pods returns a copy of every pod of the node with its newest status. First come the pods that are
// not desired any more and whose containers have not stopped; they have a deletion timestamp. The
// desired pods follow in the order of their arrival. A pod of an earlier agent that no source names
// has only what the runtime knows of it. A terminal status is shown when nothing of the pod runs
// any more.
func (n *Node) Pods() []*v1.Pod {
	desired := n.manager.GetPods() // First: what leaves the configuration now is in one of the lists.
	pods := n.view.listUndesiredPods(desired)
	for _, pod := range desired {
		pods = append(pods, n.view.podWithStatus(pod))
	}
	return pods
}

// podWithStatus is a copy of the pod with the newest status. One that waits for
// the end of a previous incarnation of its UID has none yet: what is stored is said of
// that life.
func (v *podsView) podWithStatus(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	s, ok := v.status.GetReportedPodStatus(pod.UID, v.mayHaveRunningContainers)
	deferral, waits := v.handlers.Deferred(pod.UID)
	view := v.workers.View(pod.UID)
	switch {
	case waits:
		pod.Status = v1.PodStatus{Phase: v1.PodPending, Reason: deferral.Reason, Message: deferral.Message}
		if s.Phase == v1.PodPending && s.Reason == deferral.Reason { // Of this incarnation, with older numbers.
			pod.Status.QOSClass, pod.Status.Conditions = s.QOSClass, s.Conditions
		}
	case isStatusOfEarlierIncarnation(view, v.status.PodIsFinished(pod.UID)):
		pod.Status = v1.PodStatus{Phase: v1.PodPending}
	case ok:
		pod.Status = s
	}
	return pod
}

// isStatusOfEarlierIncarnation: the newest status is said of an incarnation before the one that is desired
// now: that one is still to end, or it has, and the desired one, which has begun, has not
// been synced yet.
func isStatusOfEarlierIncarnation(view lifecycle.View, statusFinished bool) bool {
	return view.RestartRequested || statusFinished && hasUnfinishedWorker(view)
}

// viewMayHaveRunningContainers: something of the pod may run.
func viewMayHaveRunningContainers(view lifecycle.View) bool {
	return view.Known && view.CouldHaveRunningContainers()
}

// hasUnfinishedWorker: the pod has a worker that has not ended it yet.
func hasUnfinishedWorker(view lifecycle.View) bool { return view.Known && !view.IsPodKnownTerminated() }

// watcher is one Watch: the pods that have changed since it looked last.
type watcher struct {
	event    interface{ Wait(context.Context) error }
	changed  *dirty.Set[struct{}]
	statuses status.Subscription
	newest   map[types.UID]status.Update
	shown    map[types.UID]PodState
}

func (v *podsView) newWatcher() *watcher {
	event := v.executor.NewEvent()
	return v.newWatcherWithEvent(event, event.Signal)
}

// newWatcherWithEvent is watch for a caller that has something else to wait for.
func (v *podsView) newWatcherWithEvent(event interface{ Wait(context.Context) error }, notify func()) *watcher {
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

func (v *podsView) removeWatcher(w *watcher) {
	w.statuses.Close()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.watchers = slices.DeleteFunc(slices.Clone(v.mu.watchers), func(x *watcher) bool { return x == w })
}

// notifyWatchers tells every watcher to look at a pod again.
func (v *podsView) notifyWatchers(uid types.UID) {
	v.mu.Lock()
	watchers := v.mu.watchers
	v.mu.Unlock()
	for _, w := range watchers {
		w.changed.Add(uid, struct{}{})
	}
}

// changedStates are the pods that look different from what was shown last. They share all that
// they are made of, and are only read.
func (w *watcher) changedStates(v *podsView) []PodState {
	w.collectStatusUpdates()
	var states []PodState
	for _, c := range w.changed.TakeAll(nil) {
		from, wanted := v.manager.GetPodByUID(c.UID) // Before the worker, which a new pod has not yet.
		view, newest := w.readWorkerAndStatus(v, c.UID)
		if state, ok := newPodState(from, wanted, view, newest, w.shown[c.UID]); ok {
			states = append(states, state)
			w.recordShown(c.UID, state)
		}
	}
	return states
}

// summary is the pod's newest status, and what its worker does, read after that. Once nothing of the
// pod runs any more, the status says how it ended; one that is forgotten meanwhile still counts.
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

// takeSample notes the newest status of each pod that has another than before.
func (w *watcher) collectStatusUpdates() {
	for _, s := range w.statuses.TakeAll(nil) {
		if s.Removed {
			delete(w.newest, s.UID) // It may be seen off already, and nobody would come for it.
		} else {
			w.newest[s.UID] = s
		}
		w.changed.Add(s.UID, struct{}{})
	}
}

func (w *watcher) recordShown(uid types.UID, state PodState) {
	if state.Gone {
		delete(w.shown, uid)
		delete(w.newest, uid)
		return
	}
	w.shown[uid] = state
}

// newPodState puts together what is known of a pod. A pod that is no longer desired
// keeps the shape in which it was shown last. It is not ok if there is nothing
// to show, or nothing new.
func newPodState(original *v1.Pod, desired bool, view lifecycle.View, newest status.Update, shown PodState) (PodState, bool) {
	if !desired {
		original = shown.original
	}
	if original == nil {
		return PodState{}, false // It was never wanted, or has been seen off already.
	}
	if view.IsPodTerminationRequested() && newest.Pod != nil {
		original = newest.Pod // What there is to see is what ends, whatever comes after it.
	}
	state := PodState{
		Terminating: view.IsPodTerminationRequested() && view.CouldHaveRunningContainers(),
		Gone:        !desired && !view.Known,
		original:    original,
	}
	state.setVersions(view, desired, &newest, &shown)
	state.endHidden = viewMayHaveRunningContainers(view) && hideTerminalStatus(&newest, &shown)
	if shown.Pod != nil && state.isSameAs(shown) {
		return PodState{}, false
	}
	pod := *original
	switch {
	case state.noStatus:
		pod.Status = v1.PodStatus{Phase: v1.PodPending}
	case newest.Version > 0:
		pod.Status = newest.Status
	case shown.Pod != nil: // The status is gone already; it was how the pod was last.
		pod.Status = shown.Pod.Status
	}
	state.Pod = &pod
	return state, true
}

// setVersions says which status is shown, and whether it is one of the pod's own life. The
// next incarnation's number is the one that its first status will have. Neither number goes
// down when the status is forgotten.
func (s *PodState) setVersions(view lifecycle.View, desired bool, newest *status.Update, shown *PodState) {
	s.Version, s.StatusEpoch = max(newest.Version, shown.Version), max(newest.StatusEpoch, shown.StatusEpoch)
	forgotten := newest.Version == 0 && shown.Pod != nil && shown.Version > 0
	switch {
	case view.IsPodTerminationRequested() || !desired || !hasUnfinishedWorker(view):
	case newest.Version > 0 && newest.Finished:
		s.noStatus, s.StatusEpoch = true, max(newest.StatusEpoch+1, shown.StatusEpoch)
	case forgotten && shown.noStatus:
		s.noStatus = true
	case forgotten:
		s.noStatus, s.StatusEpoch = true, shown.StatusEpoch+1
	}
}

// hideTerminalStatus takes the end out of the newest status of a pod, something of which may run, and
// reports whether it did. What was shown to have ended stays so.
func hideTerminalStatus(newest *status.Update, shown *PodState) bool {
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

// isSameAs reports whether two states look the same. Neither the object that a pod
// is a copy of nor the status of a version ever changes, so that the copies
// need not be compared.
func (s PodState) isSameAs(other PodState) bool {
	other.Pod = s.Pod
	return s == other
}
