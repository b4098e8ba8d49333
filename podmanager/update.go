package podmanager

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
)

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
	switch op {
	case SET:
		return "SET"
	case ADD:
		return "ADD"
	case DELETE:
		return "DELETE"
	case REMOVE:
		return "REMOVE"
	case UPDATE:
		return "UPDATE"
	case RECONCILE:
		return "RECONCILE"
	}
	return "PodOperation(" + strconv.Itoa(int(op)) + ")"
}

// PodUpdate is one change for the consumer. The pods are the receiver's own.
type PodUpdate struct {
	// Pods are in the order of the source.
	Pods []*v1.Pod
	// Op is what happened to them.
	Op PodOperation
	// Source is the name under which the source was registered.
	Source string
}
