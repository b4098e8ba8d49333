package memory

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

// Attach implements runtime.Attacher. A container is interactive if it has stdin, no script, and a
// command that reads, such as cat, a shell or a Command of SetCommand. The command of an
// interactive container starts when the first client with stdin attaches. It stops when the last
// such client detaches. All clients share one input, and each client receives all output. The log
// receives the output too. When the command exits, the container exits. For any other container,
// Attach follows the log and ignores stdin.
func (r *Runtime) Attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) error {
	_, err := instrumentCall(ctx, r, "Attach", req, func(r *Runtime, ctx context.Context, req runtime.AttachRequest) (nothing, error) {
		return nothing{}, r.attach(ctx, req, streams)
	})
	return err
}

// attach connects a client with a running container until the client or the container ends it. With stdin and
// an interactive command, it joins the session of the command or starts the command. For any other client it
// writes the log lines that are printed from now on.
func (r *Runtime) attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) error {
	now, err := r.m.lockIfReady()
	if err != nil {
		return err
	}
	c, err := r.m.runningContainerLocked(req.ContainerID, now)
	var main Command
	if err == nil && streams.Stdin != nil {
		main = r.m.attachCommandLocked(c)
	}
	r.m.unlockAndSignal()
	switch {
	case err != nil:
		return err
	case main != nil:
		return r.attachToCommand(ctx, c, req.TTY, streams, main)
	}
	out := streams.Stdout
	if out == nil {
		out = io.Discard
	}
	return r.readLog(ctx, runtime.ReadLogRequest{ContainerID: req.ContainerID, Follow: true, Tail: tailFromNow}, out)
}

// attachCommandLocked returns the program that attached clients with stdin talk to, for example cat for `echo
// ready; cat`; leading true, echo and sleep commands are left out. It returns nil if the container has a script
// or no stdin, if it is not predicted to run forever, or if the program is unknown.
func (m *machine) attachCommandLocked(c *container) Command {
	argv := slices.Concat(c.spec.command, c.spec.args)
	_, scripted, err := m.findScriptLocked(*c.ref, c.name, c.spec.annotations, c.sandbox.annotations)
	if scripted || err != nil || !c.spec.stdin || len(argv) == 0 || !c.run.Forever {
		return nil
	}
	rest, whole := []shellCommand{{argv: argv}}, true
	if name := stripBinDir(argv[0]); len(argv) >= 3 && argv[1] == "-c" && isShell(name) {
		rest, whole = parseUnconditionalCommands(argv[2])
	}
	var before Run
	for len(rest) > 0 && before.appendCommandOrTermTrap(rest[0].argv) {
		rest = rest[1:]
	}
	if before.Forever || len(rest) == 0 {
		return nil
	}
	if argv = rest[0].argv; argv[0] == "exec" && len(argv) > 1 {
		argv = argv[1:]
	}
	if m.findRegisteredOrBuiltinCommandLocked(c, argv[0]) == nil {
		return nil
	}
	return func(ctx context.Context, p *Process) int32 { return p.runCommands(ctx, rest, whole) }
}

// maxAttachLogBytes limits how many bytes of an interactive command's output the log stores.
const maxAttachLogBytes = 64 << 10

// lineLogger is a Writer that also appends each written line to the log of the container.
type lineLogger struct {
	io.Writer
	p    *Process
	line []byte
}

// Write implements io.Writer.
func (l *lineLogger) Write(text []byte) (int, error) {
	n, err := l.Writer.Write(text)
	for _, b := range text[:n] {
		if b != '\n' && len(l.line) < maxAttachLogBytes {
			l.line = append(l.line, b)
			continue
		}
		l.p.r.m.insertLogLine(l.p.c, string(l.line))
		l.line = nil
	}
	return n, err
}

// insertLogLine inserts a line into the log of a running container at the current time, and wakes the log's
// readers. It drops the line if the container does not run, or if the lines of attached clients exceed
// maxAttachLogBytes.
func (m *machine) insertLogLine(c *container, line string) {
	now := m.lockAndPublish()
	defer m.unlockAndSignal()
	used := c.ensureExtras()
	used.attachLogBytes += len(line) + 1
	if used.attachLogBytes > maxAttachLogBytes || c.state(now) != runtime.StateRunning {
		return
	}
	since := now.Sub(c.startAt)
	at, _ := slices.BinarySearchFunc(c.logLines(), since, compareLineTime)
	used.lines = slices.Insert(used.lines, at, Line{since, line})
	m.scheduleChangeAndSignalLocked(c, now)
}

// tailFromNow is a value of ReadLogRequest.Tail that skips all lines printed so far.
const tailFromNow = math.MinInt

// PortForward implements runtime.PortForwarder. Every port of a ready sandbox echoes what it
// receives.
func (r *Runtime) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	_, err := instrumentCall(ctx, r, "PortForward", req, func(r *Runtime, ctx context.Context, req runtime.PortForwardRequest) (nothing, error) {
		return nothing{}, r.echoPortForward(ctx, req, conn)
	})
	return err
}

// echoPortForward reads bytes from conn and writes them back to conn until conn ends, and closes conn. It
// returns an error and echoes nothing if the sandbox is unknown or not ready, or if the runtime is not ready.
func (r *Runtime) echoPortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	defer conn.Close()
	if _, err := r.m.lockIfReady(); err != nil {
		return err
	}
	s := r.m.mu.sandboxes[req.SandboxID]
	ready := s != nil && s.ready
	r.m.unlockAndSignal()
	switch {
	case s == nil:
		return fmt.Errorf("memory: sandbox %s: %w", req.SandboxID, runtime.ErrNotFound)
	case !ready:
		return fmt.Errorf("memory: sandbox %s is not ready: %w", req.SandboxID, runtime.ErrWrongState)
	}
	if _, err := io.Copy(conn, conn); err != nil {
		return fmt.Errorf("memory: port %d: %w", req.Port, err)
	}
	return ctx.Err()
}
