package allocation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// EffectKind says what the caller has to do.
type EffectKind uint8

// The kinds of effects.
const (
	// Ask: put the question to a handler of the chain, and call Table.Answer.
	Ask EffectKind = iota + 1
	// Admit: start the pod.
	Admit
	// Wait: the pod waits, or waits for another reason than before.
	Wait
	// Reject: the pod is rejected, with the reason and message of Answer.
	Reject
	// Postpone: a handler or rule has panicked, so that nothing is decided. The table has forgotten
	// the pod. Add it again later.
	Postpone
)

// String returns the kind in lower case.
func (k EffectKind) String() string {
	if k == 0 || k > Postpone {
		return "none"
	}
	return [...]string{"ask", "admit", "wait", "reject", "postpone"}[k-1]
}

// Effect is what the caller has to do about one pod. The caller handles effects in their order.
type Effect struct {
	Kind EffectKind
	UID  types.UID

	// ID and Revision of an Ask come back with the answer. At is the place of the handler in the
	// chain. Pod and Snapshot are valid until the next input of the table.
	ID, Revision uint64
	Index        int
	Pod          *Pod
	Snapshot     Snapshot

	// Answer is the refusal because of which the pod waits or is rejected.
	Answer Answer
	// Blockers are the pods that the pod waits for, in the order in which they should end.
	Blockers []types.UID
	// Until is when the pod is rejected if it still waits; zero: never.
	Until time.Time
}
