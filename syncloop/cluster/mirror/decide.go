package mirror

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager"
)

// Action is the next action for a full name.
type Action int

// The actions.
const (
	// Keep: nothing to do, or nothing can be decided yet.
	Keep Action = iota
	// Create the mirror pod of the static pod.
	Create
	// Delete the mirror pod, by its UID.
	Delete
	// Report that an ordinary pod has the name.
	Report
)

// String returns the name of the action.
func (a Action) String() string { return [...]string{"Keep", "Create", "Delete", "Report"}[a] }

// Facts are the facts about a full name.
type Facts struct {
	// Static is the desired static pod, or nil. Mirror is the mirror pod at the server, or nil.
	Static, Mirror *v1.Pod
	// Node is the Node object, or nil if it is unknown.
	Node *v1.Node
	// Taken means that an ordinary pod has the name.
	Taken bool
	// Terminating means that a static pod of the name has not terminated yet.
	Terminating bool
	// Complete means that every source of static pods has delivered all of its pods.
	Complete bool
}

// Decide returns the next action. It is pure.
func Decide(f Facts) Action {
	switch {
	case f.Mirror != nil && f.Terminating:
		return Keep // It shows the termination of the pod.
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

// IsUpToDate reports whether a mirror pod equals the result of Build and is not being deleted. It ignores the owner if
// node is nil. It is pure.
func IsUpToDate(mirror, static *v1.Pod, node *v1.Node) bool {
	if mirror.DeletionTimestamp != nil || !podmanager.IsMirrorPodOf(mirror, static) {
		return false
	}
	owner := metav1.GetControllerOf(mirror)
	return node == nil || owner != nil && owner.Kind == "Node" && owner.UID == node.UID
}

// Build returns the mirror pod of a static pod: a copy with the mirror annotation and the node as owner. It is pure and
// shares nothing with its arguments.
func Build(static *v1.Pod, node *v1.Node) *v1.Pod {
	mirror := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: static.Name, Namespace: static.Namespace, UID: static.UID, Labels: static.Labels, Annotations: static.Annotations,
	}, Spec: static.Spec}
	mirror = mirror.DeepCopy()
	metav1.SetMetaDataAnnotation(&mirror.ObjectMeta, podmanager.ConfigMirrorAnnotation, static.Annotations[podmanager.ConfigHashAnnotation])
	mirror.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: new(true)}}
	return mirror
}
