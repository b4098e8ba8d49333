package podworkers

import (
	"context"

	"github.com/podkeel/podkeel/internal/executor"
)

// Completion is a handle on the end of a pod that was told to end. It is
// resolved exactly once, on every way out: the pod terminated, had finished
// before, never started, was forgotten, or the workers were stopped.
type Completion struct {
	latch executor.Latch
	err   error // written before the latch opens, read after
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

// Wait returns Err once the handle is resolved, or the context's error. The
// kubelet waits for the longer of ten seconds and one and a half times the
// grace; how long is yours to say.
func (c *Completion) Wait(ctx context.Context) error {
	if err := c.latch.Wait(ctx); err != nil {
		return err
	}
	return c.err
}

// Resolved is the handle of a pod that has no worker, and so nothing that runs. It may
// be called at any time.
func (w *Workers) Resolved() *Completion {
	c := newCompletion(w.executor)
	c.resolve(nil)
	return c
}

func newCompletion(t executor.Executor) *Completion { return &Completion{latch: t.NewLatch()} }

func (c *Completion) resolve(err error) {
	c.err = err
	c.latch.Open()
}
