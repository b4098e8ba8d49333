package mirror

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager"
)

// Action is what is to be done about a name.
type Action int

// The actions.
const (
	// Keep: all is as it should be, or cannot be known yet.
	Keep Action = iota
	// Create the mirror pod of the static pod.
	Create
	// Delete the mirror pod, by its UID.
	Delete
	// Report that an ordinary pod has the name.
	Report
)

// String is the name of the action.
func (a Action) String() string { return [...]string{"Keep", "Create", "Delete", "Report"}[a] }

// Facts are what is known of a name.
type Facts struct {
	// Static is the static pod, nil if none is desired; Mirror is the mirror pod at the
	// server, nil if none is known.
	Static, Mirror *v1.Pod
	// Node is the node's object, nil if it is not known.
	Node *v1.Node
	// Taken: an ordinary pod has the name.
	Taken bool
	// Terminating: a static pod of the name still has to end.
	Terminating bool
	// Complete: every source of static pods has delivered all of its pods.
	Complete bool
}

// Decide says what is to be done. It is pure.
func Decide(f Facts) Action {
	switch {
	case f.Mirror != nil && f.Terminating:
		return Keep // It shows how the pod ends.
	case f.Mirror != nil && f.Static == nil && !f.Complete:
		return Keep
	case f.Mirror != nil && (f.Static == nil || !IsUpToDate(f.Mirror, f.Static, f.Node)):
		return Delete
	case f.Mirror != nil || f.Static == nil:
		return Keep
	case f.Taken:
		return Report
	case f.Node == nil || f.Node.DeletionTimestamp != nil:
		return Keep
	}
	return Create
}

// IsUpToDate reports whether a mirror pod is the one that Build makes of a static pod, and is
// not being deleted. Which node object owns it does not count if node is nil. It is pure.
func IsUpToDate(mirror, static *v1.Pod, node *v1.Node) bool {
	if mirror.DeletionTimestamp != nil || !podmanager.IsMirrorPodOf(mirror, static) {
		return false
	}
	owner := metav1.GetControllerOf(mirror)
	return node == nil || owner != nil && owner.Kind == "Node" && owner.UID == node.UID
}

// Build makes the mirror pod of a static pod: what the static pod is, with an annotation
// and the node as its owner. It is pure, and shares nothing with its arguments.
func Build(static *v1.Pod, node *v1.Node) *v1.Pod {
	mirror := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: static.Name, Namespace: static.Namespace, UID: static.UID, Labels: static.Labels, Annotations: static.Annotations,
	}, Spec: static.Spec}
	mirror = mirror.DeepCopy()
	metav1.SetMetaDataAnnotation(&mirror.ObjectMeta, podmanager.ConfigMirrorAnnotation, static.Annotations[podmanager.ConfigHashAnnotation])
	mirror.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: new(true)}}
	return mirror
}
