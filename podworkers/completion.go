package podworkers

import (
	"context"
	"sync"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
)

// Completion is a handle on the termination of a pod. It is
// resolved exactly once, on every way out: the pod terminated, had finished
// before, never started, was forgotten, or the workers were stopped. Its methods may be
// called concurrently.
type Completion struct {
	latch executor.Latch
	err   error // written before the latch opens, read after
	mu    struct {
		sync.Mutex
		resolved  bool
		followers []*Completion
	}
}

// NewCompletion makes a handle that is not resolved, for another implementation of
// PodWorkers, or for what is to end before it has a worker. A nil clock is the real one.
func NewCompletion(clk clock.Clock) *Completion { return newCompletion(executor.Over(clk)) }

func newCompletion(t executor.Executor) *Completion { return &Completion{latch: t.NewLatch()} }

// Resolve resolves a handle that was made with NewCompletion: nil says that the pod's
// containers are known to have stopped. The first call counts. Those that Kill returns
// are resolved by Workers.
func (c *Completion) Resolve(err error) {
	followers, first := c.settle(err)
	if !first {
		return
	}
	c.latch.Open()
	for _, f := range followers {
		f.Resolve(err)
	}
}

// settle sets the error, if this is the first one.
func (c *Completion) settle(err error) (followers []*Completion, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.resolved {
		return nil, false
	}
	c.mu.resolved, c.err = true, err
	followers, c.mu.followers = c.mu.followers, nil
	return followers, true
}

// Follow resolves the handle as soon as another one is, with the same error.
func (c *Completion) Follow(other *Completion) {
	if err, resolved := other.resolvedOr(c); resolved {
		c.Resolve(err)
	}
}

// resolvedOr returns the error of a handle that is resolved; one that is not remembers
// who follows it.
func (c *Completion) resolvedOr(follower *Completion) (err error, resolved bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.mu.resolved {
		c.mu.followers = append(c.mu.followers, follower)
	}
	return c.err, c.mu.resolved
}

// Done is closed when the handle is resolved.
func (c *Completion) Done() <-chan struct{} { return c.latch.Done() }

// Err is nil if the pod's containers are known to have stopped, and nil also
// before the handle is resolved: ask Done, or Wait. Otherwise it says why that
// is not known.
func (c *Completion) Err() error {
	if !c.latch.Opened() {
		return nil
	}
	return c.err
}

// Wait returns Err once the handle is resolved, or the context's error. The kubelet
// waits for the longer of ten seconds and one and a half times the grace; here the
// caller sets the limit.
func (c *Completion) Wait(ctx context.Context) error {
	if err := c.latch.Wait(ctx); err != nil {
		return err
	}
	return c.err
}
