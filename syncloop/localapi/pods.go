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

// podStore shows the pods of the node and their namespaces, and keeps the pods that clients have created.
// Package created decides; podStore performs the effects. It is safe for concurrent use.
type podStore struct {
	*backend
	pods, namespaces *resource
	// writes are held while a pod of a name is written.
	writes keylock.Locks[string]
	// look receives a value when deleted pods have to be inspected.
	look chan struct{}
	mu   struct {
		sync.Mutex
		records map[types.UID]record
	}
}

// record is one UID whose state is not Unknown.
type record struct {
	state created.State
	// pod is what clients have written. Its status has only the conditions that clients write. It is never
	// changed.
	pod  *v1.Pod
	gone time.Time // since when the state is Gone
}

func newPodStore(b *backend) *podStore {
	s := &podStore{backend: b, pods: b.served["pods"], namespaces: b.served["namespaces"], look: make(chan struct{}, 1)}
	s.mu.records = map[types.UID]record{}
	return s
}

// send sends an event about a pod to its state, and shows and hides the pod. The pod is as a client has
// written it, or for a Report or Inspect a copy of what the node has. send returns the pod as it is shown,
// if the event shows it, and the effects that are left.
func (s *podStore) send(e created.Event, pod *v1.Pod) (shown *v1.Pod, todo []created.Effect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.records[pod.UID]
	var effects []created.Effect
	r.state, effects = r.state.Next(e)
	switch {
	case !r.state.Own():
		r.pod = nil
	case e.Kind.Writes():
		r.pod = pod
	}
	if e.Kind == created.Forgotten {
		r.gone = s.now()
	}
	if r.state == created.Unknown {
		delete(s.mu.records, pod.UID)
	} else {
		s.mu.records[pod.UID] = r
	}
	for _, effect := range effects {
		switch {
		case effect == created.Show, effect == created.ShowLast && s.pods.has(pod.UID):
			shown = s.showLocked(r.pod, pod)
		case effect == created.Hide:
			s.hideLocked(pod)
		case effect != created.ShowLast:
			todo = append(todo, effect)
		}
	}
	return shown, todo
}

// showLocked shows a pod. own is what clients have written of it, and nil for a pod of another source. The
// status is the newest of the node, or Pending if the node has not reported the pod.
func (s *podStore) showLocked(own, pod *v1.Pod) *v1.Pod {
	shown := pod
	if own != nil {
		shown = asCreated(own)
		if own != pod {
			shown.Status = pod.Status
		} else if before := s.shownPod(own); before != nil {
			shown.Status = *before.Status.DeepCopy()
		}
		setOthers(&shown.Status, own)
	}
	s.putNamespace(shown.Namespace)
	return s.pods.put(shown).(*v1.Pod)
}

// hideLocked removes a pod, and its namespace if no other pod is in it. One lock guards both: else a
// namespace without pods could stay, and that of a new pod could go.
func (s *podStore) hideLocked(pod *v1.Pod) {
	s.pods.remove(pod.UID)
	s.dropNamespaceLocked(pod.Namespace)
}

// shownPod returns a pod as it is shown now. It is nil if it is not shown, also if another pod has its name.
func (s *podStore) shownPod(pod *v1.Pod) *v1.Pod {
	if shown, ok := s.pods.get(pod.Namespace, pod.Name).(*v1.Pod); ok && shown.UID == pod.UID {
		return shown
	}
	return nil
}

// asCreated returns a pod as a server shows it before a node has reported it.
func asCreated(pod *v1.Pod) *v1.Pod {
	shown := kinded(pod.DeepCopy(), "Pod")
	shown.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: podstatus.QOSClass(pod), Conditions: shown.Status.Conditions}
	return shown
}

// record returns the record of a UID. Its pod is nil if the pod is of another source.
func (s *podStore) record(uid types.UID) record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.records[uid]
}

// written returns the pods that clients have created and that are not gone, in no order.
func (s *podStore) written() (pods []*v1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.mu.records {
		if r.pod != nil {
			pods = append(pods, r.pod)
		}
	}
	return pods
}

// in returns copies of the records in a state, in no order.
func (s *podStore) in(state created.State) map[types.UID]record {
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

// restore gives the node the pods that were created before this process. Each has its name from now on: a
// static pod of that name may be refused for it. A deletion goes on. A pod that this node has saved belongs
// to this node under the name that it has now. New calls restore once.
func (s *podStore) restore() error {
	if (s.config.Writer == nil) != (s.config.Saved == nil) {
		return errors.New("localapi: Config.Writer and Saved go together")
	}
	if s.config.Writer == nil {
		return nil
	}
	var lost error
	if u, ok := s.config.Saved.(Unreader); ok {
		lost = u.Unread()
	}
	for _, pod := range s.config.Saved.Consume() {
		validation.Default(pod) // The file may be of another version, or changed by hand.
		pod.Status = v1.PodStatus{Conditions: ofOthers(pod.Status.Conditions)}
		pod.Spec.NodeName = s.config.NodeName // The host may have had another name; the pod is still this node's.
		if err := s.config.Writer.Apply(pod); err != nil {
			s.log.Error("a pod that was created before cannot run any more; its file stays", "pod", keyOf(pod), "uid", pod.UID, "err", err)
			lost = err
			continue
		}
		_, _ = s.send(writeEvent(created.Restore, pod), pod) // Its status is not known before the API is ready.
	}
	s.setComplete(lost)
	return nil
}

// setComplete tells the Writer that it has all pods, unless some were lost. Then their containers and
// volumes stay until an administrator has looked, because no client has deleted the pods.
func (s *podStore) setComplete(lost error) {
	to, ok := s.config.Writer.(Completer)
	switch {
	case lost == nil && ok:
		to.SetComplete()
	case lost != nil:
		s.log.Error("not all pods that were created before are known: what is left of pods is not removed until their files are mended, or removed, and the program is started again", "err", lost)
	}
}

func writeEvent(kind created.Kind, pod *v1.Pod) created.Event {
	return created.Event{Kind: kind, Deleting: pod.DeletionTimestamp != nil, Finalizers: len(pod.Finalizers) > 0}
}

// write shows a pod that a client has written, and gives it to the node. The caller has saved the pod, and
// holds the lock of its name. The error is that of the node. write returns the pod as it is shown.
func (s *podStore) write(kind created.Kind, pod *v1.Pod) (*v1.Pod, error) {
	shown, todo := s.send(writeEvent(kind, pod), pod)
	for _, effect := range todo {
		switch effect {
		case created.Apply:
			if err := s.config.Writer.Apply(pod); err != nil {
				return shown, err
			}
		case created.Look:
			select {
			case s.look <- struct{}{}:
			default: // A look is due already.
			}
		}
	}
	return shown, nil
}

// refuse removes a new pod that the node does not take. The caller holds the lock of the pod's name.
func (s *podStore) refuse(pod *v1.Pod) {
	if _, todo := s.send(created.Event{Kind: created.Refused}, pod); slices.Contains(todo, created.Forget) {
		s.forget(pod)
	}
}

// forget performs created.Forget. The caller holds the lock of the pod's name.
func (s *podStore) forget(pod *v1.Pod) {
	if err := s.config.Saved.Drop(pod.UID); err != nil {
		s.log.Error("the file of a deleted pod is still there: the pod runs again after a restart", "pod", keyOf(pod), "err", err)
	}
	s.config.Writer.Delete(pod.UID)
	_, _ = s.send(created.Event{Kind: created.Forgotten}, pod)
}

// forgetEnded performs created.Forget for a pod that was deleted and has ended, after the request that is
// writing the pod: else the node would be given a pod again that is gone, and its name would stay taken.
func (s *podStore) forgetEnded(pod *v1.Pod) {
	defer s.writes.Lock(keyOf(pod))()
	if s.record(pod.UID).state == created.Deleting {
		s.forget(pod)
	}
}

// report takes in what the node reports of a pod. Run calls it for each state of node.Watch.
func (s *podStore) report(state node.PodState) {
	e := created.Event{Kind: created.Report, Deleting: state.Pod.DeletionTimestamp != nil, Static: podmanager.IsStaticPod(state.Pod)}
	switch {
	case state.Gone:
		e.Node = created.Absent
	case !state.Terminating && podstatus.IsTerminal(state.Pod.Status.Phase):
		e.Node = created.Ended
	}
	if _, todo := s.send(e, s.shownAs(state)); slices.Contains(todo, created.Forget) {
		s.forgetEnded(state.Pod)
	}
}

// inspect asks the node for the deleted pods, and forgets those that have ended or that the node does not
// know. It reports whether others are still to end.
func (s *podStore) inspect() (more bool) {
	for uid, r := range s.in(created.Deleting) {
		e, pod := created.Event{Kind: created.Inspect, Node: created.Absent}, r.pod
		if now, known := s.config.Node.Pod(uid); known {
			e.Node, pod = created.Active, now
			if podstatus.IsTerminal(now.Status.Phase) {
				e.Node = created.Ended
			}
		}
		more = more || e.Node == created.Active
		if _, todo := s.send(e, pod); slices.Contains(todo, created.Forget) {
			s.forgetEnded(r.pod)
		}
	}
	return more
}

// expire drops the records of pods that are gone for long, also from the node.
func (s *podStore) expire() {
	for uid, r := range s.in(created.Gone) {
		e := created.Event{Kind: created.Expire, Node: created.Absent, Age: s.now().Sub(r.gone)}
		if _, known := s.config.Node.Pod(uid); known {
			e.Node = created.Active
		}
		_, _ = s.send(e, &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}})
	}
}

// hasReported reports whether the node has heard all of its sources and has reported each pod that is
// desired. A pod that a former agent has left behind may stay for long.
func (s *podStore) hasReported() bool {
	if s.config.Node.Health().Waiting != nil {
		return false
	}
	restored := s.in(created.Restored)
	for _, pod := range s.config.Node.Pods() {
		_, unreported := restored[pod.UID]
		if pod.DeletionTimestamp == nil && pod.Status.Reason != syncloop.ReasonNotDesired && (unreported || !s.pods.has(pod.UID)) {
			return false
		}
	}
	return true
}

// shownAs returns a copy of a pod of the node, as a server shows it.
func (s *podStore) shownAs(state node.PodState) *v1.Pod {
	pod := kinded(state.Pod.DeepCopy(), "Pod")
	if before := s.shownPod(pod); before != nil {
		pod.CreationTimestamp = before.CreationTimestamp
	}
	if pod.CreationTimestamp.IsZero() {
		pod.CreationTimestamp = creationTime(pod, s.now())
	}
	if podmanager.IsStaticPod(pod) { // Such as kubectl drain leaves mirror pods alone.
		pod.Annotations[podmanager.ConfigMirrorAnnotation] = pod.Annotations[podmanager.ConfigHashAnnotation]
	}
	if state.Terminating && pod.DeletionTimestamp == nil {
		s.markDeleted(pod)
	}
	return pod
}

// creationTime returns when a pod without a creation time was started, or now.
func creationTime(pod *v1.Pod, now time.Time) metav1.Time {
	if pod.Status.StartTime != nil {
		return *pod.Status.StartTime
	}
	return metav1.NewTime(now.Truncate(time.Second))
}

// markDeleted gives a pod that the node terminates its deletion timestamp, if the pod is not desired.
func (s *podStore) markDeleted(pod *v1.Pod) {
	if shown, ok := s.config.Node.Pod(pod.UID); ok {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = shown.DeletionTimestamp, shown.DeletionGracePeriodSeconds
	}
}
