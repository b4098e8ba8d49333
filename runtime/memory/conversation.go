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

// attachSession is the run of an interactive command while clients are attached with stdin.
type attachSession struct {
	r       *Runtime // of the client process that opened it; a crash of that process ends the session
	console *console.Console
	cancel  context.CancelFunc
	clients int   // guarded by the lock of the machine
	err     error // a panic of the command; guarded by the lock of the machine
}

// attachToCommand connects a client with the interactive command of a container. It returns when
// the client detaches or the command exits.
func (r *Runtime) attachToCommand(ctx context.Context, c *container, tty bool, streams runtime.Streams, command Command) error {
	t, begin := r.joinOrOpenSession(ctx, c, tty, command)
	err := t.console.Join(ctx, streams, begin)
	if failed := r.leaveSession(ctx, c, t); err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("memory: attached to container %s: %w", c.id, err)
	}
	return nil
}

// joinOrOpenSession adds a client to the session of a container. If there is none, it opens one and
// returns startCommand, which starts the command after the client has joined.
func (r *Runtime) joinOrOpenSession(ctx context.Context, c *container, tty bool, command Command) (t *attachSession, startCommand func()) {
	ctx, cancel := executor.WithCancel(executor.Detach(ctx))
	inner, con := console.Open(ctx, r.consoleConfig(c, console.Config{TTY: tty, Many: true, StaysOpen: !c.spec.stdinOnce}))
	t = &attachSession{r: r, console: con, cancel: cancel}
	r.m.lockAndPublish()
	if other := c.ensureExtras().session; other != nil && other.r == r {
		other.clients++
		r.m.unlockAndSignal()
		cancel()
		con.Close()
		return other, nil
	}
	c.extras.session, t.clients = t, 1
	r.m.unlockAndSignal()
	return t, func() {
		con.StartProcess(func() {
			code, err := r.runSessionCommand(ctx, inner, c, tty, con, command)
			r.exitAfterSession(c, t, code, err)
		})
	}
}

// runSessionCommand runs the interactive command and copies its output to the log. It has a
// goroutine of its own, so it recovers a panic and returns the panic as an error for the clients.
func (r *Runtime) runSessionCommand(ctx, processCtx context.Context, c *container, tty bool, con *console.Console, command Command) (code int32, err error) {
	defer contain.New(contain.Config{Package: "memory", Clock: r.m.clock}).Recover("Command", &err)
	return r.runProcessOnConsole(ctx, processCtx, c, tty, con, func(ctx context.Context, p *Process) int32 {
		p.Stdout, p.Stderr = &lineLogger{Writer: p.Stdout, p: p}, &lineLogger{Writer: p.Stderr, p: p}
		return command(ctx, p)
	})
}

// leaveSession removes a client from a session and returns the panic of the command, if any. The
// last client stops the command and waits for its exit.
func (r *Runtime) leaveSession(ctx context.Context, c *container, t *attachSession) error {
	r.m.lockAndPublish()
	t.clients--
	last := t.clients == 0
	if last && c.ensureExtras().session == t {
		c.extras.session = nil
	}
	failed := t.err
	r.m.unlockAndSignal()
	if last {
		t.cancel()
		t.console.StopProcess(ctx)
	}
	return failed
}

// exitAfterSession makes the container exit with the code of the interactive command. The container
// runs on if the command stopped because all clients detached.
func (r *Runtime) exitAfterSession(c *container, t *attachSession, code int32, err error) {
	now := r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	if c.ensureExtras().session == t {
		c.extras.session = nil
	}
	var panicked *contain.Panic
	if errors.As(err, &panicked) {
		t.err = err
	}
	if err == nil && !c.removed && c.state(now) == runtime.StateRunning {
		c.scheduleExit(now, code)
		r.m.scheduleChangeLocked(c, now)
		r.m.publishChangeLocked(c.pod, c, now)
	}
}
