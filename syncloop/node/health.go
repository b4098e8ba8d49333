package node

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Health is the state of a node at one moment.
type Health struct {
	// Err has every error that makes the node unhealthy; nil if it is healthy. It also names each call
	// of Config's code (a hook, a recorder, a runtime and so on) that has panicked in the last five
	// minutes, even if later calls succeeded.
	Err error
	// Stuck is not nil if the loop of the node makes no progress. A watchdog can use it to restart the
	// process. It is nil for a runtime that does not answer and for a contained panic, because a
	// restart does not help against those.
	Stuck error
	// Waiting is nil if the node is ready, and otherwise says what the node waits for.
	Waiting error
	// ShuttingDown reports whether Drain was called with groups, without an Undrain since then.
	ShuttingDown bool
	// Pressure has, for each pressure condition that the node measures, whether the node has it. The condition
	// eviction.NodeSignalsUnobserved is included. Nil without Config.Eviction.
	Pressure map[v1.NodeConditionType]bool
}

// Health returns the state of the node. It never blocks, and may be called from any goroutine, before
// and after Run too.
func (n *Node) Health() Health {
	_, runtimeErr := n.pleg.Healthy()
	return Health{
		Err:          errors.Join(n.loop.Healthy(), runtimeErr, n.guard.Healthy()),
		Stuck:        n.loop.Stuck(),
		Waiting:      n.notReadyError(runtimeErr),
		ShuttingDown: n.drainer.shutdown.Load(),
		Pressure:     n.pressureConditions(),
	}
}

// notReadyError returns nil if the node is ready. If it is not, the error names the first missing condition:
// the pods of a source, a listing of the runtime, or a finished housekeeping.
func (n *Node) notReadyError(runtimeErr error) error {
	switch {
	case n.ready.Opened():
		return nil
	case !n.sources.AllSeen():
		return errors.New("node: not every source has delivered its pods")
	case runtimeErr != nil:
		return fmt.Errorf("node: the runtime cannot be listed: %w", runtimeErr)
	}
	return errors.New("node: the first housekeeping has not finished")
}

// String returns the state as one line: "ready", "ready, shutting down", or the errors and what the
// node waits for.
func (h Health) String() string {
	parts := []string{"ready"}
	if h.Waiting != nil {
		parts[0] = "not ready: " + h.Waiting.Error()
	}
	if h.Err != nil {
		parts = append(parts, "unhealthy: "+strings.ReplaceAll(h.Err.Error(), "\n", "; "))
	}
	if h.Stuck != nil {
		parts = append(parts, "stuck: "+h.Stuck.Error())
	}
	if h.ShuttingDown {
		parts = append(parts, "shutting down")
	}
	return strings.Join(parts, ", ")
}
