package node

import (
	"errors"
	"fmt"
	"strings"
)

// Health is the state of a node at one moment.
type Health struct {
	// Err names everything that is wrong with the node; nil: it is healthy. A panic in code that Config
	// brings (a hook, a recorder, a runtime ...) fails one call. Err names that call until five minutes
	// have passed since its last panic, even if later calls succeed.
	Err error
	// Stuck is not nil if the loop of the node makes no progress. It is for a watchdog that restarts the
	// process. It reports less than Err, because a restart helps neither against a runtime that does not
	// answer nor against a panic that was contained.
	Stuck error
	// Waiting is nil if the node is ready, and otherwise says what the node waits for.
	Waiting error
	// ShuttingDown reports that Drain was called with groups, and not Undrain since.
	ShuttingDown bool
}

// Health returns the state of the node. It never blocks and may be called from anywhere, before and
// after Run too.
func (n *Node) Health() Health {
	_, runtimeErr := n.pleg.Healthy()
	return Health{
		Err:          errors.Join(n.loop.Healthy(), runtimeErr, n.guard.Healthy()),
		Stuck:        n.loop.Stuck(),
		Waiting:      n.notReadyError(runtimeErr),
		ShuttingDown: n.drainer.shutdown.Load(),
	}
}

// notReadyError returns nil if the node is ready, and otherwise what it waits for.
func (n *Node) notReadyError(runtimeErr error) error {
	switch {
	case n.ready.Opened():
		return nil
	case !n.sources.AllSeen():
		return errors.New("node: not every source of pods has been heard")
	case runtimeErr != nil:
		return fmt.Errorf("node: the runtime has not been seen: %w", runtimeErr)
	}
	return errors.New("node: the first housekeeping is not over")
}

// String returns the state as one line of text: "ready", "ready, shutting down", or what is wrong and
// what the node waits for.
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
