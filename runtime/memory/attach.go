package memory

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

// Attach implements runtime.Attacher. A container with an input whose command reads, as cat, a
// shell or one that SetCommand was given, does so while clients are attached with input: the
// command begins with the first of them and ends with the last. What they send is one input, and
// each of them gets all that it prints, which is in its log, too. The container ends with the
// command. To any other container nothing gets through.
func (r *Runtime) Attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) error {
	_, err := instrumentCall(ctx, r, "Attach", req, func(r *Runtime, ctx context.Context, req runtime.AttachRequest) (nothing, error) {
		return nothing{}, r.attach(ctx, req, streams)
	})
	return err
}

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
	r.m.unlock()
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

// attachCommandLocked is what a container does when it has done what is plain, if it reads: nil if not.
func (m *machine) attachCommandLocked(c *container) Command {
	argv := slices.Concat(c.spec.command, c.spec.args)
	_, scripted, err := m.findScriptLocked(*c.ref, c.name, c.spec.annotations, c.sandbox.annotations)
	if scripted || err != nil || !c.spec.stdin || len(argv) == 0 || !c.run.Forever {
		return nil
	}
	rest, whole := []shellCommand{{argv: argv}}, true
	if name := commandName(argv[0]); len(argv) >= 3 && argv[1] == "-c" && isShell(name) {
		rest, whole = parseUnconditionalCommands(argv[2])
	}
	var before Run
	for len(rest) > 0 && before.appendCommandOrTrap(rest[0].argv) {
		rest = rest[1:]
	}
	if before.Forever || len(rest) == 0 {
		return nil
	}
	if argv = rest[0].argv; argv[0] == "exec" && len(argv) > 1 {
		argv = argv[1:]
	}
	if m.findCommandLocked(c, argv[0]) == nil {
		return nil
	}
	return func(ctx context.Context, p *Process) int32 { return p.runCommands(ctx, rest, whole) }
}

// maxAttachLogBytes is how many bytes of what a container prints for a client are kept in its log.
const maxAttachLogBytes = 64 << 10

// attachLogBytes keeps what is written, line by line.
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
		l.p.r.m.appendLogLine(l.p.c, string(l.line))
		l.line = nil
	}
	return n, err
}

// appendLogLine adds a line to a log.
func (m *machine) appendLogLine(c *container, line string) {
	now := m.lock()
	defer m.unlock()
	used := c.ensureExtras()
	used.attachLogBytes += len(line) + 1
	if used.attachLogBytes > maxAttachLogBytes || c.state(now) != runtime.StateRunning {
		return
	}
	since := now.Sub(c.startAt)
	at, _ := slices.BinarySearchFunc(c.logLines(), since, compareLineTime)
	used.lines = slices.Insert(used.lines, at, Line{since, line})
	m.scheduleChangeLocked(c, now)
}

// tailFromNow is a tail that leaves out every line there is.
const tailFromNow = math.MinInt

// PortForward implements runtime.PortForwarder. Every port of a sandbox that is ready sends
// back what it gets.
func (r *Runtime) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	_, err := instrumentCall(ctx, r, "PortForward", req, func(r *Runtime, ctx context.Context, req runtime.PortForwardRequest) (nothing, error) {
		return nothing{}, r.portForward(ctx, req, conn)
	})
	return err
}

func (r *Runtime) portForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	defer conn.Close()
	if _, err := r.m.lockIfReady(); err != nil {
		return err
	}
	s := r.m.mu.sandboxes[req.SandboxID]
	ready := s != nil && s.ready
	r.m.unlock()
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
