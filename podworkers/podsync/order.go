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

// newStopQueue returns the stop order of the targets. If wholePod is false,
// no target waits (TO-8). A target waits only for containers that run (TO-4). A created container is
// removed at once, so nothing waits for it for long.
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

// waitForTurn waits until all targets before a target have stopped, or until the grace period of the
// target is over (TO-5). A failed stop does not block the targets after it, because the next call
// repeats it. The returned context has the targets that stopped in time. The simulated executor uses it
// to order parallel calls.
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
