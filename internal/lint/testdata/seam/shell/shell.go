// Package shell waits and forks by its own means.
package shell

import (
	"context"
	"math/rand"
	random "math/rand/v2"
	"sync"
	"time"

	"module.test/internal/executor"
)

type shell struct {
	mu    sync.Mutex
	seam  executor.Executor
	clock interface{ NewTimer(time.Duration) }
	wg    sync.WaitGroup
	wake  chan struct{}
}

// Done is for people who select.
func (s *shell) Done() <-chan struct{} { return nil }

func (s *shell) good(ctx context.Context) {
	s.seam.Go(func() { _ = s.seam.Sleep(ctx, time.Second) })
	executor.NewGroup(s.seam).Wait()
	_ = random.Float64()
	time := fake{}
	time.Sleep()
}

func (s *shell) bad(ctx context.Context) {
	go s.bad(ctx)
	select {
	case <-s.wake:
	case <-time.After(time.Second):
	}
	s.wake <- struct{}{}
	close(s.wake)
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(ctx, cancel)
	s.clock.NewTimer(time.Second)
	_ = time.Now()
	_ = random.IntN(6)
	_ = sync.NewCond(nil)
}

type fake struct{}

func (fake) Sleep() {}
