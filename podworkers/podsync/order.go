package podsync

import (
	"context"
	"errors"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
)

// queue is where the containers of one pod stand while they are stopped: by
// target, a latch that opens when it has had its turn, and the targets that it waits for.
type queue struct {
	served []executor.Latch
	before [][]int
}

// newQueue lines up the targets of a kill. Unless it is of a whole pod nobody
// waits for anybody (TO-8). Only what runs is waited for (TO-4): what was created
// is removed at once, unless it has been started meanwhile.
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

// await waits for the turn of a target, or until its grace is over (TO-5). One
// whose stop has failed has had its turn: it is tried again with the next call,
// which would have to wait for us. The context that it returns names the targets for which it has
// waited. When the grace is over it has waited for none more: the stops that are under way then are
// parallel to its own.
func (s *Syncer) await(ctx context.Context, q *queue, i int, k *kill) (context.Context, error) {
	if len(q.before[i]) == 0 {
		return ctx, nil
	}
	after := ctx
	within, cancel := s.executor.WithDeadline(ctx, k.by)
	defer cancel()
	for _, j := range q.before[i] {
		if err := q.served[j].Wait(within); err != nil {
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				return after, nil
			}
			return ctx, err
		}
		if s.executor.Now().Before(k.by) {
			after = executor.WithBranchAfter(after, j)
		}
	}
	return after, nil
}
