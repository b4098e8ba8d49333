package localapi

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Writer runs the pods that were created by the API: a node.Node. Its methods are called
// concurrently and must not block.
type Writer interface {
	// Apply makes a pod desired, in place of an earlier one of its UID; a pod with a deletion
	// timestamp is ended within its deletionGracePeriodSeconds.
	Apply(pod *v1.Pod) error
	// Delete forgets a pod.
	Delete(uid types.UID)
}

// Saved keeps pods over restarts: a checkpoint.Pods. Its methods are called concurrently.
type Saved interface {
	// Consume returns the pods that an earlier process has saved. New calls it once.
	Consume() []*v1.Pod
	// Save keeps a pod in place of what was kept of its UID. After a nil error it outlives the
	// process.
	Save(pod *v1.Pod) error
	// Drop removes what is kept of a pod, if anything is.
	Drop(uid types.UID) error
}

// Completer is a Writer that must be told when all pods of an earlier process have been applied,
// and that ends no other pods before: a node.Node with Config.AwaitHost.
type Completer interface {
	Writer
	// SetComplete says that all of them have been applied. New calls it at most once.
	SetComplete()
}

// Unreader is a Saved that knows whether it has lost pods that an earlier process has saved: a
// checkpoint.Pods.
type Unreader interface {
	Saved
	// Unread returns nil if Consume returns all saved pods, and else why it cannot. New calls it
	// once.
	Unread() error
}

// Unsaved is a Saved that keeps nothing: created pods end with the process.
type Unsaved struct{}

// Consume implements Saved.
func (Unsaved) Consume() []*v1.Pod { return nil }

// Save implements Saved.
func (Unsaved) Save(*v1.Pod) error { return nil }

// Drop implements Saved.
func (Unsaved) Drop(types.UID) error { return nil }
