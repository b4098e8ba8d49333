package podworkers

import (
	"context"
	"sync"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
)

// Completion is a handle on the termination of a pod. It is resolved exactly once, in every case:
// the pod terminated, had finished before, never started, was forgotten, or the workers were
// stopped. Its methods may be called concurrently.
type Completion struct {
	latch executor.Latch
	err   error // written before the latch opens, read after
	mu    struct {
		sync.Mutex
		resolved  bool
		followers []*Completion
	}
}

// NewCompletion returns an unresolved handle. It is for other implementations of PodWorkers, and
// for a pod that is terminated before it has a worker. A nil clock is the real one.
func NewCompletion(clk clock.Clock) *Completion { return newCompletion(executor.Over(clk)) }

// newCompletion returns an unresolved Completion.
func newCompletion(t executor.Executor) *Completion { return &Completion{latch: t.NewLatch()} }

// Resolve resolves a handle from NewCompletion. A nil error means that the pod's containers are
// known to have stopped. Only the first call has an effect. The handles that Kill returns are
// resolved by Workers.
func (c *Completion) Resolve(err error) {
	followers, first := c.setFirstResult(err)
	if !first {
		return
	}
	c.latch.Open()
	for _, f := range followers {
		f.Resolve(err)
	}
}

// setFirstResult stores the error of the first call and returns true with the Completions that must be resolved
// with this one. Later calls change nothing and return false.
func (c *Completion) setFirstResult(err error) (followers []*Completion, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.resolved {
		return nil, false
	}
	c.mu.resolved, c.err = true, err
	followers, c.mu.followers = c.mu.followers, nil
	return followers, true
}

// Follow resolves the handle with the error of another one, as soon as that one is resolved.
func (c *Completion) Follow(other *Completion) {
	if err, resolved := other.resultOrAddFollower(c); resolved {
		c.Resolve(err)
	}
}

// resultOrAddFollower returns the error and true if the Completion is resolved. If it is not, it adds follower
// to the Completions that will be resolved with this one, and returns false.
func (c *Completion) resultOrAddFollower(follower *Completion) (err error, resolved bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.mu.resolved {
		c.mu.followers = append(c.mu.followers, follower)
	}
	return c.err, c.mu.resolved
}

// Done is closed when the handle is resolved.
func (c *Completion) Done() <-chan struct{} { return c.latch.Done() }

// Err returns nil if the pod's containers are known to have stopped, and otherwise the reason why
// that is not known. It also returns nil before the handle is resolved, so use Done or Wait first.
func (c *Completion) Err() error {
	if !c.latch.Opened() {
		return nil
	}
	return c.err
}

// Wait returns Err once the handle is resolved, or the error of ctx if ctx ends first. The kubelet
// waits for the longer of ten seconds and one and a half times the grace period. Here the caller
// sets the limit.
func (c *Completion) Wait(ctx context.Context) error {
	if err := c.latch.Wait(ctx); err != nil {
		return err
	}
	return c.err
}
