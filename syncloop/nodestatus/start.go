package nodestatus

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Start is the start phase of a node's agent. During this phase Facts.Starting is true, and a node that is
// Ready at the server stays Ready.
type Start struct {
	// Begun is when the agent has started.
	Begun time.Time
	// Ended is true once the node was found ready or StartTimeout has passed. It stays true.
	Ended bool
}

// Update returns the start phase after a measurement. It does not read Facts.Starting.
func (s Start) Update(f Facts) Start {
	s.Ended = s.Ended || ReadyCondition(f).Status == v1.ConditionTrue || f.Now.Sub(s.Begun) >= StartTimeout
	return s
}
