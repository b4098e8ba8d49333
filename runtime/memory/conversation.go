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

// attachToCommand connects a client with the interactive command of a container, and starts the command for the
// first client. It returns when the client detaches or the command exits.
func (r *Runtime) attachToCommand(ctx context.Context, c *container, tty bool, streams runtime.Streams, command Command) error {
	t, begin := r.joinOrOpenSession(ctx, c, tty, command)
	err := t.console.Join(ctx, streams, begin)
	if failed := r.leaveSessionAndStopIfLast(ctx, c, t); err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("memory: attached to container %s: %w", c.id, err)
	}
	return nil
}

// joinOrOpenSession adds a client to the attach session of a container, and opens a session if there is none.
// startCommand is nil if the session existed. If a session was opened, the caller must call startCommand after
// the client has joined.
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
			r.endSessionAndExitUnlessError(c, t, code, err)
		})
	}
}

// runSessionCommand runs the interactive command of an attach session, copies its output to the container's log
// and returns its exit code. It recovers a panic of the command and returns it as an error for the clients.
func (r *Runtime) runSessionCommand(ctx, processCtx context.Context, c *container, tty bool, con *console.Console, command Command) (code int32, err error) {
	defer contain.New(contain.Config{Package: "memory", Clock: r.m.clock}).Recover("Command", &err)
	return r.runProcessOnConsole(ctx, processCtx, c, tty, con, func(ctx context.Context, p *Process) int32 {
		p.Stdout, p.Stderr = &lineLogger{Writer: p.Stdout, p: p}, &lineLogger{Writer: p.Stderr, p: p}
		return command(ctx, p)
	})
}

// leaveSessionAndStopIfLast removes a client from an attach session. If it was the last client,
// leaveSessionAndStopIfLast stops the command and waits for its exit. It returns an error if the command has
// panicked.
func (r *Runtime) leaveSessionAndStopIfLast(ctx context.Context, c *container, t *attachSession) error {
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

// endSessionAndExitUnlessError ends an attach session. If err is nil, a running container exits with the exit
// code of its interactive command. If err is not nil, because all clients detached or the command panicked, the
// container continues to run. A panic is stored for the clients of the session.
func (r *Runtime) endSessionAndExitUnlessError(c *container, t *attachSession, code int32, err error) {
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
		c.scheduleExitIfEarlier(now, code)
		r.m.scheduleChangeAndSignalLocked(c, now)
		r.m.publishChangeLocked(c.pod, c, now)
	}
}
