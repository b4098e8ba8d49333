package nodestatus

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Start is the beginning of a node's agent. While it lasts, Facts.Starting is true, and a node that
// the server has as Ready stays so.
type Start struct {
	// Begun is when the agent has begun.
	Begun time.Time
	// Ended: the node was found ready since, or StartTimeout has passed. It stays true.
	Ended bool
}

// Update is the start after a measurement. Facts.Starting is not read.
func (s Start) Update(f Facts) Start {
	s.Ended = s.Ended || ReadyCondition(f).Status == v1.ConditionTrue || f.Now.Sub(s.Begun) >= StartTimeout
	return s
}
