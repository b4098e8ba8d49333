package merge

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// entry is a pod of a source and since when the source has had it without a break.
type entry struct {
	pod     *v1.Pod
	place   uint64    // in the order of the source
	arrived uint64    // number of the change with which it arrived
	seen    time.Time // when that was
	stamped bool      // pod has the local annotations already
}

// hold makes pod that of e, which was seen by then.
func (t *Tracker) hold(e *entry, pod *v1.Pod) {
	e.pod, e.stamped = pod, false
	if _, has := pod.Annotations[SourceAnnotation]; t.owner != "" && !has {
		pod.Annotations = e.annotations(t.owner)
		e.stamped = true
	}
}

// Rejected is a pod that a snapshot held and that cannot be delivered.
type Rejected struct {
	Pod *v1.Pod // nil if that was the fault
	Err error
}

// ErrDuplicate is the fault of a pod whose UID or full name an earlier pod of
// the same snapshot has.
var ErrDuplicate = errors.New("duplicate pod")

// ErrNameless is the fault of a pod without name or UID.
var ErrNameless = errors.New("pod without identity")

// admit says why a pod of a list cannot be taken.
func (t *Tracker) admit(pod *v1.Pod) error {
	if err := fault(pod); err != nil {
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

// disturbs reports whether a pod has a fault, or the name of one with another UID.
func (t *Tracker) disturbs(pod *v1.Pod) bool {
	if fault(pod) != nil {
		return true
	}
	other, taken := t.names[fullNameOf(pod)]
	return taken && other != pod.UID
}

// fault says what is wrong with a pod alone.
func fault(pod *v1.Pod) error {
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

// stays reports whether now is the same incarnation of the pod as before. A deletion cannot be taken back. So a
// pod whose deletion is gone is a new incarnation: the data of an API server were restored from a backup that
// is older than the deletion.
func stays(before, now *v1.Pod, guarded bool) bool {
	return before.UID == now.UID && fullNameOf(before) == fullNameOf(now) && (guarded || !rebuilt(before, now)) &&
		(before.DeletionTimestamp == nil || now.DeletionTimestamp != nil)
}

// fullName is what two pods of a node must not share.
type fullName struct{ name, namespace string }

func fullNameOf(pod *v1.Pod) fullName { return fullName{pod.Name, pod.Namespace} }

// String is the kubelet's notation.
func (n fullName) String() string { return n.name + "_" + n.namespace }
