package podmanager

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Manager is the desired pods and their mirrors, as the kubelet's pod manager. It is
// composed of roles. All methods may be called from any goroutine at any time and never
// block on anything but each other. Pods are handed in and out without a copy and are read
// only from then on. Found flags that are false come with a nil pod.
type Manager interface {
	PodReader
	MirrorReader
	PodWriter
	Translator
	// GetUIDTranslations returns all translations, of one moment, both ways. A
	// static pod without a mirror is in podToMirror with "".
	GetUIDTranslations() (podToMirror map[ResolvedPodUID]MirrorPodUID, mirrorToPod map[MirrorPodUID]ResolvedPodUID)
}

// PodReader finds desired pods. No answer is a mirror pod.
type PodReader interface {
	// GetPods returns all pods but mirrors, in order of arrival. The slice is
	// the caller's.
	GetPods() []*v1.Pod
	// GetPodByFullName finds the pod, not mirror, by FullName.
	GetPodByFullName(podFullName string) (*v1.Pod, bool)
	// GetPodByName finds the pod, not mirror, by namespace and name.
	GetPodByName(namespace, name string) (*v1.Pod, bool)
	// GetPodByUID finds the pod, not mirror. A mirror's UID finds nothing.
	GetPodByUID(uid types.UID) (*v1.Pod, bool)
}

// MirrorReader finds mirror pods, and the pods that they stand for.
type MirrorReader interface {
	// GetPodByMirrorPod finds the pod that has the mirror's full name.
	GetPodByMirrorPod(mirror *v1.Pod) (*v1.Pod, bool)
	// GetMirrorPodByPod finds the mirror that has the pod's full name. It does
	// not matter whether the pod is static, or known.
	GetMirrorPodByPod(pod *v1.Pod) (*v1.Pod, bool)
	// GetPodAndMirrorPod completes the pair. Of a mirror it returns the pod of
	// that full name, or nil, the argument itself, and true; of a pod the
	// argument itself, its mirror, or nil, and false.
	GetPodAndMirrorPod(aPod *v1.Pod) (pod, mirror *v1.Pod, wasMirror bool)
	// GetPodsAndMirrorPods returns, of one moment and each in order of arrival,
	// all pods, all mirrors, and the full names of the mirrors that stand for
	// no pod.
	GetPodsAndMirrorPods() (pods, mirrors []*v1.Pod, orphanFullNames []string)
	// GetStaticPodToMirrorPodMap maps every static pod to its mirror, or nil.
	GetStaticPodToMirrorPodMap() map[*v1.Pod]*v1.Pod
}

// PodWriter changes what is desired. The loop is the only caller.
type PodWriter interface {
	// SetPods replaces everything that is known.
	SetPods(pods []*v1.Pod)
	// AddPod stores the pod in place of whatever has its UID. It returns with
	// the pod visible to all.
	AddPod(pod *v1.Pod)
	// UpdatePod is AddPod.
	UpdatePod(pod *v1.Pod)
	// RemovePod forgets the UID of the pod; an unknown one is no fault.
	RemovePod(pod *v1.Pod)
}

// Translator turns UIDs of mirror pods into those of the pods that they stand for.
type Translator interface {
	// TranslatePodUID turns the UID of a mirror into that of the pod it stands
	// for, and returns any other UID as it is.
	TranslatePodUID(uid types.UID) ResolvedPodUID
}

// PodStatuses keeps the newest status of each pod: a status.Store. Calls for one pod come one
// after the other, calls for different pods concurrently. No method may block.
type PodStatuses interface {
	// SetPodStatus publishes the status of a pod. A PodSyncer calls it at least once in each
	// sync, also if nothing has changed, and the loop for a pod that waits for admission or was
	// rejected. It must not keep or change what status points to. A status that cannot follow
	// the one before, as one in which a container that has exited runs again, may be ignored.
	SetPodStatus(pod *v1.Pod, status v1.PodStatus)
	// ReplacePodStatus is SetPodStatus for the first status of a pod that has the UID of a
	// former pod. It may be any status: nothing of the former pod's status is merged into it.
	ReplacePodStatus(pod *v1.Pod, status v1.PodStatus)
	// GetPodStatus returns a copy of the status that was published last, which the caller may
	// change; false if there is none.
	GetPodStatus(uid types.UID) (v1.PodStatus, bool)
}

// PodOperation is the kind of a change.
type PodOperation int

// The kinds of change, in the kubelet's numbering. They are delivered in the
// order REMOVE, ADD, UPDATE, DELETE, RECONCILE.
const (
	// SET replaces everything: what sources say. It is never delivered.
	SET PodOperation = iota
	// ADD: pods the source did not have before. An empty ADD says that the
	// source is there and has none.
	ADD
	// DELETE: pods that are to end gracefully, since they have a deletion
	// timestamp. The source still has them.
	DELETE
	// REMOVE: pods the source has no longer.
	REMOVE
	// UPDATE: pods of which something desired has changed.
	UPDATE
	// RECONCILE: pods of which only the status has changed.
	RECONCILE
)

// String is the name of the operation.
func (op PodOperation) String() string {
	if names := [...]string{SET: "SET", ADD: "ADD", DELETE: "DELETE", REMOVE: "REMOVE", UPDATE: "UPDATE", RECONCILE: "RECONCILE"}; op >= 0 && int(op) < len(names) {
		return names[op]
	}
	return "PodOperation(" + strconv.Itoa(int(op)) + ")"
}

// PodUpdate is one change for the consumer. The pods are read only: they share what they are
// made of with the source, and with other readers.
type PodUpdate struct {
	// Pods are in the order of the source.
	Pods []*v1.Pod
	// Op is what happened to them.
	Op PodOperation
	// Source is the name under which the source was registered.
	Source string
}
