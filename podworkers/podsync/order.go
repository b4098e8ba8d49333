package podsync

import (
	"context"
	"errors"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
)

// queue is where the containers of one pod stand while they are stopped: by
// target, a latch that opens when it has had its turn, and those it waits for.
type queue struct {
	served []executor.Latch
	before [][]executor.Latch
}

// newQueue lines up the targets of a kill. Unless it is of a whole pod nobody
// waits for anybody (TO-8). Only what runs is waited for (TO-4): what was created
// is removed at once, unless it has been started meanwhile.
func newQueue(t executor.Executor, targets []target, whole bool) *queue {
	q := &queue{served: make([]executor.Latch, len(targets)), before: make([][]executor.Latch, len(targets))}
	for i := range targets {
		q.served[i] = t.NewLatch()
	}
	for i := range targets {
		for j := range targets {
			if whole && targets[j].Order >= request.First && targets[j].Order < targets[i].Order {
				q.before[i] = append(q.before[i], q.served[j])
			}
		}
	}
	return q
}

// await waits for the turn of a target, or until its grace is over (TO-5). One
// whose stop has failed has had its turn: it is tried again with the next call,
// which would have to wait for us.
func (s *Syncer) await(ctx context.Context, q *queue, i int, k *kill) error {
	if len(q.before[i]) == 0 {
		return nil
	}
	within, cancel := s.executor.WithDeadline(ctx, k.by)
	defer cancel()
	for _, latch := range q.before[i] {
		if err := latch.Wait(within); err != nil {
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				return nil
			}
			return err
		}
	}
	return nil
}
