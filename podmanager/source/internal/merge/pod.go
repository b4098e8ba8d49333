package merge

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// entry is a pod of a source.
type entry struct {
	pod                 *v1.Pod
	place               uint64    // in the order of the source
	arrivalNumber       uint64    // number of the change that added this incarnation
	firstSeen           time.Time // time of that change
	hasLocalAnnotations bool      // pod has the local annotations already
}

// setPod sets the pod of an entry. If the Tracker may modify the pod and it has no source annotation, setPod
// adds the annotations that the node sets to the pod itself.
func (t *Tracker) setPod(e *entry, pod *v1.Pod) {
	e.pod, e.hasLocalAnnotations = pod, false
	if _, has := pod.Annotations[SourceAnnotation]; t.ownerSource != "" && !has {
		pod.Annotations = e.annotationsWithLocal(t.ownerSource)
		e.hasLocalAnnotations = true
	}
}

// Rejected is a pod of a snapshot that cannot be delivered.
type Rejected struct {
	Pod *v1.Pod // nil if the snapshot had a nil pod
	Err error
}

// ErrDuplicate is the fault of a pod that has the UID or full name of an earlier pod of the same
// snapshot.
var ErrDuplicate = errors.New("duplicate pod")

// ErrNameless is the fault of a pod without name or UID.
var ErrNameless = errors.New("pod without identity")

// checkListed returns an error if a pod of a list is invalid, or if an earlier pod of the list has its UID or
// full name.
func (t *Tracker) checkListed(pod *v1.Pod) error {
	if err := checkPod(pod); err != nil {
		return err
	}
	if other, taken := t.names[fullNameOf(pod)]; taken {
		return fmt.Errorf("%w: %s is the name of an earlier pod (uid %q)", ErrDuplicate, fullNameOf(pod), other)
	}
	if e, taken := t.pods[pod.UID]; taken {
		return fmt.Errorf("%w: %q is the UID of an earlier pod (%s)", ErrDuplicate, pod.UID, fullNameOf(e.pod))
	}
	return nil
}

// needsFullReplace reports whether a single change must be handled as a new list of all pods: its pod is
// invalid, or another UID has the pod's full name.
func (t *Tracker) needsFullReplace(pod *v1.Pod) bool {
	if checkPod(pod) != nil {
		return true
	}
	other, taken := t.names[fullNameOf(pod)]
	return taken && other != pod.UID
}

// checkPod returns an error if a pod is nil, lacks a name or UID, or has an invalid quantity.
func checkPod(pod *v1.Pod) error {
	switch {
	case pod == nil:
		return fmt.Errorf("%w: nil", ErrNameless)
	case pod.Name == "":
		return fmt.Errorf("%w: no name (uid %q)", ErrNameless, pod.UID)
	case pod.UID == "":
		return fmt.Errorf("%w: no UID (pod %s)", ErrNameless, fullNameOf(pod))
	}
	return podspec.CheckQuantities(pod)
}

// isSameIncarnation reports whether two versions belong to one pod: the UID and full name are equal, no
// immutable field has changed unless guarded is true, and a deletion was not taken back. A deletion disappears
// only if the API server was restored from an older backup.
func isSameIncarnation(before, now *v1.Pod, guarded bool) bool {
	return before.UID == now.UID && fullNameOf(before) == fullNameOf(now) && (guarded || !hasImmutableChange(before, now)) &&
		(before.DeletionTimestamp == nil || now.DeletionTimestamp != nil)
}

// fullName identifies a pod on a node: two pods must not share it.
type fullName struct{ name, namespace string }

// fullNameOf returns the full name of a pod.
func fullNameOf(pod *v1.Pod) fullName { return fullName{pod.Name, pod.Namespace} }

// String returns the full name as the kubelet writes it.
func (n fullName) String() string { return n.name + "_" + n.namespace }
