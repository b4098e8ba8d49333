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

// newStopQueue returns the order in which the targets stop. If wholePod is false no target waits for another
// one. Otherwise a target waits for all running containers that must stop before it (TO-4, TO-8).
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

// waitForTurn waits until all targets that must stop before this one have stopped, or until the deadline
// (TO-5). A failed stop does not block the targets after it. The returned context names the targets that
// stopped in time, which the simulated executor uses to order parallel calls.
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
