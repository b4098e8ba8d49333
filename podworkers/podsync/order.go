package podsync

import (
	"context"
	"errors"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
)

// stopQueue is the order in which the containers of one pod stop. For each target it has a latch that
// opens after the stop, and the targets that must stop before it.
type stopQueue struct {
	stopped      []executor.Latch
	predecessors [][]int
}

// newStopQueue returns the order in which containers stop. If wholePod is true, a container waits for all
// containers with a lower stop order, except ephemeral ones. If wholePod is false, no container waits for
// another one (TO-4, TO-8).
func newStopQueue(exec executor.Executor, targets []stopTarget, wholePod bool) *stopQueue {
	q := &stopQueue{stopped: make([]executor.Latch, len(targets)), predecessors: make([][]int, len(targets))}
	for i := range targets {
		q.stopped[i] = exec.NewLatch()
	}
	for i := range targets {
		for j := range targets {
			if wholePod && targets[j].Order >= request.StopOrderFirst && targets[j].Order < targets[i].Order {
				q.predecessors[i] = append(q.predecessors[i], j)
			}
		}
	}
	return q
}

// waitForTurn waits until all containers that must stop before this one have stopped, but not longer than the
// deadline. It returns no error at the deadline. A failed stop counts as stopped. The returned context names
// the containers that stopped in time, for the simulated executor (TO-5).
func (k *podKiller) waitForTurn(ctx context.Context, q *stopQueue, index int, deadline time.Time) (context.Context, error) {
	if len(q.predecessors[index]) == 0 {
		return ctx, nil
	}
	after := ctx
	within, cancel := k.executor.WithDeadline(ctx, deadline)
	defer cancel()
	for _, j := range q.predecessors[index] {
		if err := q.stopped[j].Wait(within); err != nil {
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				return after, nil
			}
			return ctx, err
		}
		if k.executor.Now().Before(deadline) {
			after = executor.WithBranchAfter(after, j)
		}
	}
	return after, nil
}
