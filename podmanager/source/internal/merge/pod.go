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

// setPodAndAnnotateOwned sets the pod of an entry. If the Tracker owns its pods (see SetOwner) and the pod has
// no source annotation, it also adds source and first-seen time to the annotations of the pod object itself.
func (t *Tracker) setPodAndAnnotateOwned(e *entry, pod *v1.Pod) {
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

// checkListedPod returns an error if a pod of a list is invalid, or if an earlier pod of the list has its UID
// or full name.
func (t *Tracker) checkListedPod(pod *v1.Pod) error {
	if err := checkIdentityAndQuantities(pod); err != nil {
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

// needsFullReplace reports whether a single changed pod must be handled as a new list of all pods. That is the
// case if the pod is invalid or another UID has its full name.
func (t *Tracker) needsFullReplace(pod *v1.Pod) bool {
	if checkIdentityAndQuantities(pod) != nil {
		return true
	}
	other, taken := t.names[fullNameOf(pod)]
	return taken && other != pod.UID
}

// checkIdentityAndQuantities returns an error if a pod is nil, lacks a name or UID, or has a quantity that is
// too extreme to compute with.
func checkIdentityAndQuantities(pod *v1.Pod) error {
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

// isSameIncarnation reports whether two versions under a UID are one pod and not a deleted and re-created one:
// the full name is equal, no immutable field has changed unless guarded is true, and a deletion timestamp has
// not disappeared. It disappears only if the API server was restored from an older backup.
func isSameIncarnation(before, now *v1.Pod, guarded bool) bool {
	return before.UID == now.UID && fullNameOf(before) == fullNameOf(now) && (guarded || !hasImmutableChange(before, now)) &&
		(before.DeletionTimestamp == nil || now.DeletionTimestamp != nil)
}

// fullName identifies a pod on a node: two pods must not share it.
type fullName struct{ name, namespace string }

// fullNameOf returns the name and namespace of a pod as a key.
func fullNameOf(pod *v1.Pod) fullName { return fullName{pod.Name, pod.Namespace} }

// String returns the full name as the kubelet writes it.
func (n fullName) String() string { return n.name + "_" + n.namespace }
