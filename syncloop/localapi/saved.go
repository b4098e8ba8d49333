package localapi

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Writer runs the pods that clients create: a node.Node. The API calls its methods concurrently. They must not block.
type Writer interface {
	// Apply makes a pod desired and replaces an earlier version with the same UID. A pod with a deletion timestamp is
	// terminated within its deletionGracePeriodSeconds.
	Apply(pod *v1.Pod) error
	// Delete removes a pod from the desired pods.
	Delete(uid types.UID)
}

// Saved stores pods across restarts: a checkpoint.Pods. The API calls its methods concurrently.
type Saved interface {
	// Load returns the pods that an earlier process saved. It must not remove them from the storage: the API calls Drop
	// for each pod that need not survive another restart. New calls Load once.
	Load() []*v1.Pod
	// Save stores a pod and replaces an earlier version with the same UID. After a nil error the pod survives a crash.
	Save(pod *v1.Pod) error
	// Drop removes a stored pod. A missing pod is no error.
	Drop(uid types.UID) error
}

// Completer is a Writer that waits for SetComplete before it removes containers and volumes of unknown pods: a
// node.Node whose node.Config.Pods.AwaitHost is set.
type Completer interface {
	Writer
	// SetComplete signals that all saved pods have been applied. New calls it at most once.
	SetComplete()
}

// ReadErrorReporter is a Saved that can lose pods, for example in a damaged file: a checkpoint.Pods.
type ReadErrorReporter interface {
	Saved
	// ReadError returns an error if Load could not read all saved pods. New calls it once.
	ReadError() error
}

// Unsaved is a Saved that stores nothing. Created pods are lost when the process stops.
type Unsaved struct{}

// Load implements Saved.
func (Unsaved) Load() []*v1.Pod { return nil }

// Save implements Saved.
func (Unsaved) Save(*v1.Pod) error { return nil }

// Drop implements Saved.
func (Unsaved) Drop(types.UID) error { return nil }
