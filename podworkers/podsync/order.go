package podsync

import (
	"context"
	"errors"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
)

// queue is the order in which the containers of one pod are stopped. For each target it has a latch that
// opens after the stop, and the targets before it.
type queue struct {
	served []executor.Latch
	before [][]int
}

// newQueue returns the order of the targets of a kill. If the kill is not of a whole pod no target waits
// (TO-8). A target waits only for containers that run (TO-4): one that was created is removed at once,
// unless it has been started meanwhile.
func newQueue(t executor.Executor, targets []target, whole bool) *queue {
	q := &queue{served: make([]executor.Latch, len(targets)), before: make([][]int, len(targets))}
	for i := range targets {
		q.served[i] = t.NewLatch()
	}
	for i := range targets {
		for j := range targets {
			if whole && targets[j].Order >= request.First && targets[j].Order < targets[i].Order {
				q.before[i] = append(q.before[i], j)
			}
		}
	}
	return q
}

// waitForTurn waits until all targets before a target are stopped, or until its grace period is over
// (TO-5). A failed stop does not block the targets after it: the next call repeats it. The context that
// waitForTurn returns names the targets that were stopped in time. The stop of the target is parallel to
// all others.
func (k *podKiller) waitForTurn(ctx context.Context, q *queue, i int, by time.Time) (context.Context, error) {
	if len(q.before[i]) == 0 {
		return ctx, nil
	}
	after := ctx
	within, cancel := k.executor.WithDeadline(ctx, by)
	defer cancel()
	for _, j := range q.before[i] {
		if err := q.served[j].Wait(within); err != nil {
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				return after, nil
			}
			return ctx, err
		}
		if k.executor.Now().Before(by) {
			after = executor.WithBranchAfter(after, j)
		}
	}
	return after, nil
}
