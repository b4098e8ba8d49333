package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory/internal/console"
)

// conversation is the command of a container while clients are attached to it with input.
type conversation struct {
	r       *Runtime // the view that has begun it: with a process that crashes it ends
	console *console.Console
	cancel  context.CancelFunc
	clients int   // guarded by the lock of the machine
	err     error // a panic of the command; guarded by it too
}

// converse connects a client with the command of a container, until either ends.
func (r *Runtime) converse(ctx context.Context, c *container, tty bool, streams runtime.Streams, main Command) error {
	t, begin := r.conversation(ctx, c, tty, main)
	err := t.console.Join(ctx, streams, begin)
	if failed := r.leave(ctx, c, t); err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("memory: attached to container %s: %w", c.id, err)
	}
	return nil
}

// conversation is the one that there is, with one client more, or one that begin begins.
func (r *Runtime) conversation(ctx context.Context, c *container, tty bool, main Command) (t *conversation, begin func()) {
	ctx, cancel := executor.WithCancel(executor.Detach(ctx))
	inner, con := console.Open(ctx, r.connected(c, console.Config{TTY: tty, Many: true, StaysOpen: !c.spec.stdinOnce}))
	t = &conversation{r: r, console: con, cancel: cancel}
	r.m.lock()
	if other := c.uses().talk; other != nil && other.r == r {
		other.clients++
		r.m.unlock()
		cancel()
		con.Close()
		return other, nil
	}
	c.used.talk, t.clients = t, 1
	r.m.unlock()
	return t, func() {
		con.Start(func() {
			code, err := r.talk(ctx, inner, c, tty, con, main)
			r.over(c, t, code, err)
		})
	}
}

// talk runs the command. A panic of it is an error of the clients: it is on a goroutine of its own.
func (r *Runtime) talk(ctx, inner context.Context, c *container, tty bool, con *console.Console, main Command) (code int32, err error) {
	defer contain.New(contain.Config{Package: "memory", Clock: r.m.clock}).Recover("Command", &err)
	return r.runOn(ctx, inner, c, tty, con, func(ctx context.Context, p *Process) int32 {
		p.Stdout, p.Stderr = &logged{Writer: p.Stdout, p: p}, &logged{Writer: p.Stderr, p: p}
		return main(ctx, p)
	})
}

// leave is called by each client at its end. The last one ends the command, and waits for that. The
// error is the command's.
func (r *Runtime) leave(ctx context.Context, c *container, t *conversation) error {
	r.m.lock()
	t.clients--
	last := t.clients == 0
	if last && c.uses().talk == t {
		c.used.talk = nil
	}
	failed := t.err
	r.m.unlock()
	if last {
		t.cancel()
		t.console.Stop(ctx)
	}
	return failed
}

// over ends a container with its command, unless that has ended for want of clients.
func (r *Runtime) over(c *container, t *conversation, code int32, err error) {
	now := r.m.lock()
	defer r.m.unlock()
	if c.uses().talk == t {
		c.used.talk = nil
	}
	var panicked *contain.Panic
	if errors.As(err, &panicked) {
		t.err = err
	}
	if err == nil && !c.gone && c.state(now) == runtime.StateRunning {
		c.endAt(now, code)
		r.m.planLocked(c, now)
		r.m.changedLocked(c.pod, c, now)
	}
}
