// Package passive is loud.
package passive

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"module.test/internal/executor"
)

type store struct {
	mu   sync.Mutex // This much is allowed.
	seam executor.Executor
	wg   sync.WaitGroup
	cond *sync.Cond
	wake chan struct{}
}

// Done is for people who select.
func (s *store) Done() <-chan struct{} { return nil }

func (s *store) run(ctx context.Context) {
	go s.run(ctx)
	s.seam.Go(func() {})
	executor.Each(s.seam, 0, 1, nil)
	g := executor.NewGroup(s.seam)
	g.Wait()
	s.wake <- struct{}{}
	ctx, _ = context.WithTimeout(ctx, time.Second)
	_ = s.seam.Sleep(ctx, time.Second) // Whoever calls waits, by the seam.
	fmt.Printf("%s", time.Now())
}
