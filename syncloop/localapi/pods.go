package localapi

import (
	"errors"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/keylock"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/localapi/internal/created"
	"github.com/podkeel/podkeel/syncloop/node"
)

// podStore serves the pods of the node and their namespaces, and stores the pods that clients have created. Package
// created decides what happens to a pod; podStore performs the effects. It is safe for concurrent use.
type podStore struct {
	*backend
	pods, namespaces *resource
	// nameLocks has a lock per pod name, which is held during a write of the pod.
	nameLocks keylock.Locks[string]
	// inspectRequested receives a value when deleted pods must be inspected.
	inspectRequested chan struct{}
	mu               struct {
		sync.Mutex
		records map[types.UID]record
	}
}

// record is the state of one UID. A UID in state Unknown has no record.
type record struct {
	state created.State
	// written is the pod as clients have written it. Its status has only the conditions that clients write. Nothing changes
	// it.
	written      *v1.Pod
	removedSince time.Time // when the state became Removed
}

func newPodStore(b *backend) *podStore {
	s := &podStore{backend: b, pods: b.served["pods"], namespaces: b.served["namespaces"], inspectRequested: make(chan struct{}, 1)}
	s.mu.records = map[types.UID]record{}
	return s
}

// storeEventAndShowOrHide changes the stored state of a pod for one event, such as a client's write or a report
// of the node. It also shows the pod to clients or hides it, as the new state requires. pod is the pod as the
// client wrote it, or a copy of the node's pod for an event of the node. It returns the shown pod, or nil, and
// the actions that the caller must still perform.
func (s *podStore) storeEventAndShowOrHide(e created.Event, pod *v1.Pod) (shown *v1.Pod, todo []created.Effect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[pod.UID]
	var effects []created.Effect
	r.state, effects = r.state.Next(e)
	switch {
	case !r.state.IsOwned():
		r.written = nil
	case e.Kind.CarriesPod():
		r.written = pod
	}
	if e.Kind == created.Forgotten {
		r.removedSince = s.now()
	}
	if r.state == created.Unknown {
		delete(s.mu.records, pod.UID)
	} else {
		s.mu.records[pod.UID] = r
	}
	for _, effect := range effects {
		switch {
		case effect == created.Show, effect == created.ShowLast && s.pods.hasVisibleOrWaiting(pod.UID):
			shown = s.showPodAndNamespaceLocked(r.written, pod)
		case effect == created.Hide:
			s.hidePodAndEmptyNamespaceLocked(pod)
		case effect != created.ShowLast:
			todo = append(todo, effect)
		}
	}
	return shown, todo
}

// showPodAndNamespaceLocked makes a pod visible to clients, adds its namespace, and returns the visible pod.
// written is the pod as a client has written it, or nil for a pod of another source. A written pod is shown
// with its newest status from the node, or Pending if there is none, and with the conditions that clients
// wrote.
func (s *podStore) showPodAndNamespaceLocked(written, pod *v1.Pod) *v1.Pod {
	shown := pod
	if written != nil {
		shown = withPendingStatus(written)
		if written != pod {
			shown.Status = pod.Status
		} else if before := s.shownPodUnlessReplaced(written); before != nil {
			shown.Status = *before.Status.DeepCopy()
		}
		replaceClientConditions(&shown.Status, written)
	}
	s.addNamespace(shown.Namespace)
	return s.pods.putIfChanged(shown).(*v1.Pod)
}

// hidePodAndEmptyNamespaceLocked hides a pod from clients, and also its namespace if no other pod is in it. The
// caller holds the lock for both steps, because a new pod could otherwise appear in a namespace that is being
// removed.
func (s *podStore) hidePodAndEmptyNamespaceLocked(pod *v1.Pod) {
	s.pods.removeAndWakeWatchers(pod.UID)
	s.removeEmptyNamespaceLocked(pod.Namespace)
}

// shownPodUnlessReplaced returns the pod with the UID of the given pod as clients see it. It returns nil if
// clients do not see it, or if another pod has its name.
func (s *podStore) shownPodUnlessReplaced(pod *v1.Pod) *v1.Pod {
	if shown, ok := s.pods.shownObjectOrNil(pod.Namespace, pod.Name).(*v1.Pod); ok && shown.UID == pod.UID {
		return shown
	}
	return nil
}

// withPendingStatus returns a copy of a pod with phase Pending, its QoS class and the conditions of clients.
// Clients see this status until the node reports the pod.
func withPendingStatus(pod *v1.Pod) *v1.Pod {
	shown := withKind(pod.DeepCopy(), "Pod")
	shown.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: podstatus.QOSClass(pod), Conditions: shown.Status.Conditions}
	return shown
}

// recordOf returns what the API stores about the pod with this UID, or an empty record. The field written is
// nil if no client of this API has created the pod.
func (s *podStore) recordOf(uid types.UID) record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.records[uid]
}

// writtenPods returns the pods that clients of this API have created and that still exist, in no order.
func (s *podStore) writtenPods() (pods []*v1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.mu.records {
		if r.written != nil {
			pods = append(pods, r.written)
		}
	}
	return pods
}

// copyRecordsInState returns copies of what the API stores about the pods in this state, by pod UID.
func (s *podStore) copyRecordsInState(state created.State) map[types.UID]record {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[types.UID]record{}
	for uid, r := range s.mu.records {
		if r.state == state {
			found[uid] = r
		}
	}
	return found
}

// restoreReadableAndAcceptedPods applies to the node each pod that an earlier process has saved, with the
// current node name, and shows the pod to clients. It logs an error for a pod that the node refuses, and
// continues. If a saved pod was unreadable or refused, it does not call SetComplete of the Writer, so that the
// node keeps the containers and volumes of unknown pods. It returns an error only if just one of Config.Writer
// and Config.Saved is set. Without both it does nothing.
func (s *podStore) restoreReadableAndAcceptedPods() error {
	if (s.config.Writer == nil) != (s.config.Saved == nil) {
		return errors.New("localapi: Config.Writer and Saved go together")
	}
	if s.config.Writer == nil {
		return nil
	}
	var lost error
	if u, ok := s.config.Saved.(ReadErrorReporter); ok {
		lost = u.ReadError()
	}
	for _, pod := range s.config.Saved.Load() {
		validation.Default(pod) // Another version may have written the file, or an administrator may have edited it.
		pod.Status = v1.PodStatus{Conditions: clientConditions(pod.Status.Conditions)}
		pod.Spec.NodeName = s.config.NodeName // The host may have been renamed.
		if err := s.config.Writer.Apply(pod); err != nil {
			s.log.Error("cannot run a saved pod; its file stays", "pod", objectKey(pod), "uid", pod.UID, "err", err)
			lost = err
			continue
		}
		_, _ = s.storeEventAndShowOrHide(newWriteEvent(created.Restore, pod), pod) // The API serves no requests yet.
	}
	s.setCompleteIfAllPodsRestored(lost)
	return nil
}

// setCompleteIfAllPodsRestored calls SetComplete of the Writer, if it is a Completer, so that the node may
// remove the containers and volumes of unknown pods. If lost is not nil, some saved pods were unreadable or
// refused by the node. It then only logs that error, because no client has deleted those pods.
func (s *podStore) setCompleteIfAllPodsRestored(lost error) {
	to, ok := s.config.Writer.(Completer)
	switch {
	case lost == nil && ok:
		to.SetComplete()
	case lost != nil:
		s.log.Error("cannot restore all saved pods: containers and volumes of unknown pods stay until the files are repaired or removed and the program restarts", "err", lost)
	}
}

// newWriteEvent returns the event by which a client's write changes the stored state of a pod. The event says
// whether the pod is being deleted and has finalizers.
func newWriteEvent(kind created.Kind, pod *v1.Pod) created.Event {
	return created.Event{Kind: kind, Deleting: pod.DeletionTimestamp != nil, Finalizers: len(pod.Finalizers) > 0}
}

// showAndApplyWrite makes a written pod visible. If the new state of the pod requires it, it also applies the
// pod to the node and requests a check of the deleted pods. The caller has saved the pod and holds the lock of
// its name. It returns the pod as clients see it, and the error of the node.
func (s *podStore) showAndApplyWrite(kind created.Kind, pod *v1.Pod) (*v1.Pod, error) {
	shown, todo := s.storeEventAndShowOrHide(newWriteEvent(kind, pod), pod)
	for _, effect := range todo {
		switch effect {
		case created.Apply:
			if err := s.config.Writer.Apply(pod); err != nil {
				return shown, err
			}
		case created.InspectDeleting:
			select {
			case s.inspectRequested <- struct{}{}:
			default: // An inspection is pending already.
			}
		}
	}
	return shown, nil
}

// removeRefusedPod removes a new pod that the node has refused: its file, its visible object, and the pod in
// the node. The caller holds the lock of the pod's name.
func (s *podStore) removeRefusedPod(pod *v1.Pod) {
	if _, todo := s.storeEventAndShowOrHide(created.Event{Kind: created.Refused}, pod); slices.Contains(todo, created.Forget) {
		s.deletePodAndFile(pod)
	}
}

// deletePodAndFile removes the saved file of a pod, deletes the pod from the node, and hides it from clients.
// If the file cannot be removed, it logs the error and continues. The caller holds the lock of the pod's name.
func (s *podStore) deletePodAndFile(pod *v1.Pod) {
	if err := s.config.Saved.Drop(pod.UID); err != nil {
		s.log.Error("cannot remove the file of a pod: a restart applies the pod again; if it was deleted, it is terminated again", "pod", objectKey(pod), "err", err)
	}
	s.config.Writer.Delete(pod.UID)
	_, _ = s.storeEventAndShowOrHide(created.Event{Kind: created.Forgotten}, pod)
}

// deletePodAndFileIfDeleting calls deletePodAndFile if a client has deleted the pod and the pod still has state
// Deleting. It locks the pod's name first, so that a concurrent write cannot apply the pod to the node again
// after the deletion.
func (s *podStore) deletePodAndFileIfDeleting(pod *v1.Pod) {
	defer s.nameLocks.Lock(objectKey(pod))()
	if s.recordOf(pod.UID).state == created.Deleting {
		s.deletePodAndFile(pod)
	}
}

// showOrHideReportedPodAndFinishDeletion handles one state from node.Watch. It shows the pod to clients as the
// node reports it. If the pod is gone and no client has written it, it hides the pod. If a client has deleted the
// pod and the pod has terminated or is gone, it removes the pod's file and deletes the pod from the node.
func (s *podStore) showOrHideReportedPodAndFinishDeletion(state node.PodState) {
	e := created.Event{Kind: created.Report, Deleting: state.Pod.DeletionTimestamp != nil, Static: podmanager.IsStaticPod(state.Pod)}
	switch {
	case state.Gone:
		e.Node = created.Absent
	case !state.Terminating && podstatus.IsTerminal(state.Pod.Status.Phase):
		e.Node = created.Ended
	}
	if _, todo := s.storeEventAndShowOrHide(e, s.podFromState(state)); slices.Contains(todo, created.Forget) {
		s.deletePodAndFileIfDeleting(state.Pod)
	}
}

// removeTerminatedDeletedPods removes the deleted pods that have terminated or that the node does not have. It
// reports whether some deleted pods have not terminated. Deleted pods with finalizers are in another state, so
// it skips them.
func (s *podStore) removeTerminatedDeletedPods() (stillTerminating bool) {
	for uid, r := range s.copyRecordsInState(created.Deleting) {
		e, pod := created.Event{Kind: created.Inspect, Node: created.Absent}, r.written
		if now, known := s.config.Node.Pod(uid); known {
			e.Node, pod = created.Active, now
			if podstatus.IsTerminal(now.Status.Phase) {
				e.Node = created.Ended
			}
		}
		stillTerminating = stillTerminating || e.Node == created.Active
		if _, todo := s.storeEventAndShowOrHide(e, pod); slices.Contains(todo, created.Forget) {
			s.deletePodAndFileIfDeleting(r.written)
		}
	}
	return stillTerminating
}

// expireOldRemovedRecords deletes what the API stores about pods that were removed at least
// created.RemovedRetention ago and that the node no longer has.
func (s *podStore) expireOldRemovedRecords() {
	for uid, r := range s.copyRecordsInState(created.Removed) {
		e := created.Event{Kind: created.Expire, Node: created.Absent, Age: s.now().Sub(r.removedSince)}
		if _, known := s.config.Node.Pod(uid); known {
			e.Node = created.Active
		}
		_, _ = s.storeEventAndShowOrHide(e, &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}})
	}
}

// hasNodeReportedAllPods reports whether the node has the pods of all sources and has reported each desired pod
// that is not being deleted. It does not wait for containers that an earlier agent left behind, because they
// may stay for long.
func (s *podStore) hasNodeReportedAllPods() bool {
	if s.config.Node.Health().Waiting != nil {
		return false
	}
	restored := s.copyRecordsInState(created.Restored)
	for _, pod := range s.config.Node.Pods() {
		_, unreported := restored[pod.UID]
		if pod.DeletionTimestamp == nil && pod.Status.Reason != syncloop.ReasonNotDesired && (unreported || !s.pods.hasVisibleOrWaiting(pod.UID)) {
			return false
		}
	}
	return true
}

// podFromState returns a copy of a node's pod with the fields that an API server adds: the creation time, the
// mirror annotation of a static pod, and the deletion timestamp of a terminating pod.
func (s *podStore) podFromState(state node.PodState) *v1.Pod {
	pod := withKind(state.Pod.DeepCopy(), "Pod")
	if before := s.shownPodUnlessReplaced(pod); before != nil {
		pod.CreationTimestamp = before.CreationTimestamp
	}
	if pod.CreationTimestamp.IsZero() {
		pod.CreationTimestamp = startTimeOrNow(pod, s.now())
	}
	if podmanager.IsStaticPod(pod) { // kubectl drain skips mirror pods.
		pod.Annotations[podmanager.ConfigMirrorAnnotation] = pod.Annotations[podmanager.ConfigHashAnnotation]
	}
	if state.Terminating && pod.DeletionTimestamp == nil {
		s.copyDeletionFromNode(pod)
	}
	return pod
}

// startTimeOrNow returns the start time of a pod. It returns the current time if the pod has not started.
func startTimeOrNow(pod *v1.Pod, now time.Time) metav1.Time {
	if pod.Status.StartTime != nil {
		return *pod.Status.StartTime
	}
	return metav1.NewTime(now.Truncate(time.Second))
}

// copyDeletionFromNode copies the deletion timestamp and grace period of the node's pod into the given pod. It
// changes nothing if the node does not have the pod.
func (s *podStore) copyDeletionFromNode(pod *v1.Pod) {
	if shown, ok := s.config.Node.Pod(pod.UID); ok {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = shown.DeletionTimestamp, shown.DeletionGracePeriodSeconds
	}
}
