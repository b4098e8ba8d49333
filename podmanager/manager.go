package podmanager

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Manager stores the desired pods and their mirror pods, like the kubelet's pod manager. It is
// composed of roles. All methods may be called from any goroutine at any time and wait only for
// each other. Pods are stored and returned without a copy and must not be modified. If a method
// returns false, its pod is nil.
type Manager interface {
	PodReader
	MirrorReader
	PodWriter
	Translator
	// GetUIDTranslations returns all translations of one moment, in both directions. A static pod
	// without a mirror pod is in podToMirror with "".
	GetUIDTranslations() (podToMirror map[ResolvedPodUID]MirrorPodUID, mirrorToPod map[MirrorPodUID]ResolvedPodUID)
}

// PodReader finds desired pods. It never returns a mirror pod.
type PodReader interface {
	// GetPods returns all pods but mirror pods, in order of arrival. The caller may modify the
	// slice.
	GetPods() []*v1.Pod
	// GetPodByFullName returns the pod with a full name.
	GetPodByFullName(podFullName string) (*v1.Pod, bool)
	// GetPodByName returns the pod with a namespace and name.
	GetPodByName(namespace, name string) (*v1.Pod, bool)
	// GetPodByUID returns the pod with a UID. It returns false for the UID of a mirror pod.
	GetPodByUID(uid types.UID) (*v1.Pod, bool)
}

// MirrorReader finds mirror pods, and the pods that belong to them.
type MirrorReader interface {
	// GetPodByMirrorPod returns the pod with the full name of the mirror pod.
	GetPodByMirrorPod(mirror *v1.Pod) (*v1.Pod, bool)
	// GetMirrorPodByPod returns the mirror pod with the full name of the pod. The pod need not be
	// static or known.
	GetMirrorPodByPod(pod *v1.Pod) (*v1.Pod, bool)
	// GetPodAndMirrorPod returns a pod and its mirror pod, given one of the two. For a mirror pod
	// wasMirror is true. The other one of the pair is nil if it does not exist.
	GetPodAndMirrorPod(aPod *v1.Pod) (pod, mirror *v1.Pod, wasMirror bool)
	// GetPodsAndMirrorPods returns, of one moment and each in order of arrival, all pods, all
	// mirror pods, and the full names of the mirror pods without a pod.
	GetPodsAndMirrorPods() (pods, mirrors []*v1.Pod, orphanFullNames []string)
	// GetStaticPodToMirrorPodMap maps every static pod to its mirror pod, or to nil.
	GetStaticPodToMirrorPodMap() map[*v1.Pod]*v1.Pod
}

// PodWriter changes the desired pods. The sync loop is its only caller.
type PodWriter interface {
	// SetPods replaces all pods and mirror pods.
	SetPods(pods []*v1.Pod)
	// AddPod stores the pod. It replaces a pod with the same UID.
	AddPod(pod *v1.Pod)
	// UpdatePod is AddPod.
	UpdatePod(pod *v1.Pod)
	// RemovePod removes the UID of the pod. It does nothing for an unknown UID.
	RemovePod(pod *v1.Pod)
}

// Translator translates UIDs of mirror pods.
type Translator interface {
	// TranslatePodUID returns the UID of the static pod for the UID of its mirror pod, and any
	// other UID unchanged.
	TranslatePodUID(uid types.UID) ResolvedPodUID
}

// PodStatuses stores the newest status of each pod, like a status.Store. Calls for one pod are
// sequential, calls for different pods are concurrent. No method may block.
type PodStatuses interface {
	// SetPodStatus publishes the status of a pod. A PodSyncer calls it at least once in each sync,
	// also if nothing has changed. The sync loop calls it for a pod that waits for admission or was
	// rejected. The callee must not keep or change what status points to. It may ignore an
	// impossible status, for example one in which an exited container runs again.
	SetPodStatus(pod *v1.Pod, status v1.PodStatus)
	// ReplacePodStatus is SetPodStatus for the first status of a pod that has the UID of an earlier
	// pod. Any status is allowed: nothing of the earlier pod's status is merged into it.
	ReplacePodStatus(pod *v1.Pod, status v1.PodStatus)
	// GetPodStatus returns a copy of the newest published status, which the caller may modify, and
	// false if there is none.
	GetPodStatus(uid types.UID) (v1.PodStatus, bool)
}

// PodOperation is the kind of a change.
type PodOperation int

// The kinds of change, in the kubelet's numbering. They are delivered in the
// order REMOVE, ADD, UPDATE, DELETE, RECONCILE.
const (
	// SET replaces everything. Sources use it; it is never delivered.
	SET PodOperation = iota
	// ADD: pods that the source did not have before. An empty ADD means that the source is ready
	// and has no pods.
	ADD
	// DELETE: pods with a deletion timestamp, which must terminate gracefully. The source still has
	// them.
	DELETE
	// REMOVE: pods that the source has no longer.
	REMOVE
	// UPDATE: pods whose desired state has changed.
	UPDATE
	// RECONCILE: pods with a changed status and an unchanged desired state.
	RECONCILE
)

// String returns the name of the operation.
func (op PodOperation) String() string {
	if names := [...]string{SET: "SET", ADD: "ADD", DELETE: "DELETE", REMOVE: "REMOVE", UPDATE: "UPDATE", RECONCILE: "RECONCILE"}; op >= 0 && int(op) < len(names) {
		return names[op]
	}
	return "PodOperation(" + strconv.Itoa(int(op)) + ")"
}

// PodUpdate is one change for the consumer. The pods must not be modified, because they are shared
// with the source and with other readers.
type PodUpdate struct {
	// Pods are in the order of the source.
	Pods []*v1.Pod
	// Op is the kind of change.
	Op PodOperation
	// Source is the name under which the source was registered.
	Source string
}
