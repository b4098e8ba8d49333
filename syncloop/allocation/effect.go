package allocation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// EffectKind is what the caller has to do.
type EffectKind uint8

// The kinds of effects.
const (
	// Ask asks a handler of the chain. The caller calls Table.Answer with its answer.
	Ask EffectKind = iota + 1
	// Admit starts the pod.
	Admit
	// Wait: the pod waits, or the reason of its wait has changed.
	Wait
	// Reject rejects the pod, with the reason and message of Answer.
	Reject
	// Postpone: a handler or rule has panicked, so nothing is decided and the table has removed the pod. The
	// caller adds the pod again later.
	Postpone
	// AllocateResize: the pod has the requested resources from now on. The caller stores Pod and updates the
	// worker.
	AllocateResize
	// DeferResize: the pod keeps its resources until other pods claim less.
	DeferResize
	// RefuseResize: the pod keeps its resources, because the request is infeasible.
	RefuseResize
)

// String returns the kind in lower case.
func (k EffectKind) String() string {
	if k == 0 || k > RefuseResize {
		return "none"
	}
	return [...]string{"ask", "admit", "wait", "reject", "postpone", "allocate resize", "defer resize", "refuse resize"}[k-1]
}

// Effect is what the caller has to do about one pod. The caller handles effects in their order.
type Effect struct {
	Kind EffectKind
	UID  types.UID

	// ID and Revision of an Ask are arguments of Table.Answer. Index is the index of the handler in the
	// chain. Pod and Snapshot of an Ask are valid until the next call of a method of the table.
	ID, Revision uint64
	Index        int
	Pod          *Pod
	Snapshot     Snapshot

	// Generation is the generation of the resize request.
	Generation int64
	// Answer is the refusal that makes the pod wait, or that refuses the pod or its resize.
	Answer Answer
	// Blockers are the pods that the pod waits for, in the order of the ends of their grace periods.
	Blockers []types.UID
	// Until is when the pod is rejected if it still waits; zero: never.
	Until time.Time
}
