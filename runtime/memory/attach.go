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
	_, err := verb(ctx, r, "Attach", req, func(r *Runtime, ctx context.Context, req runtime.AttachRequest) (nothing, error) {
		return nothing{}, r.attach(ctx, req, streams)
	})
	return err
}

func (r *Runtime) attach(ctx context.Context, req runtime.AttachRequest, streams runtime.Streams) error {
	now, err := r.m.lockReady()
	if err != nil {
		return err
	}
	c, err := r.m.runningLocked(req.ContainerID, now)
	var main Command
	if err == nil && streams.Stdin != nil {
		main = r.m.mainLocked(c)
	}
	r.m.unlock()
	switch {
	case err != nil:
		return err
	case main != nil:
		return r.converse(ctx, c, req.TTY, streams, main)
	}
	out := streams.Stdout
	if out == nil {
		out = io.Discard
	}
	return r.readLog(ctx, runtime.ReadLogRequest{ContainerID: req.ContainerID, Follow: true, Tail: fromNow}, out)
}

// mainLocked is what a container does when it has done what is plain, if it reads: nil if not.
func (m *machine) mainLocked(c *container) Command {
	argv := slices.Concat(c.spec.command, c.spec.args)
	_, scripted, err := m.scriptLocked(*c.ref, c.name, c.spec.annotations, c.sandbox.annotations)
	if scripted || err != nil || !c.spec.stdin || len(argv) == 0 || !c.run.Forever {
		return nil
	}
	rest, whole := []shellCommand{{argv: argv}}, true
	if name := program(argv[0]); len(argv) >= 3 && argv[1] == "-c" && isShell(name) {
		rest, whole = rowOf(argv[2])
	}
	var before Run
	for len(rest) > 0 && before.plain(rest[0].argv) {
		rest = rest[1:]
	}
	if before.Forever || len(rest) == 0 {
		return nil
	}
	if argv = rest[0].argv; argv[0] == "exec" && len(argv) > 1 {
		argv = argv[1:]
	}
	if m.commandLocked(c, argv[0]) == nil {
		return nil
	}
	return func(ctx context.Context, p *Process) int32 { return p.script(ctx, rest, whole) }
}

// mostLogged is how many bytes of what a container prints for a client are kept in its log.
const mostLogged = 64 << 10

// logged keeps what is written, line by line.
type logged struct {
	io.Writer
	p    *Process
	line []byte
}

// Write implements io.Writer.
func (l *logged) Write(text []byte) (int, error) {
	n, err := l.Writer.Write(text)
	for _, b := range text[:n] {
		if b != '\n' && len(l.line) < mostLogged {
			l.line = append(l.line, b)
			continue
		}
		l.p.r.m.print(l.p.c, string(l.line))
		l.line = nil
	}
	return n, err
}

// print adds a line to a log.
func (m *machine) print(c *container, line string) {
	now := m.lock()
	defer m.unlock()
	used := c.uses()
	used.logged += len(line) + 1
	if used.logged > mostLogged || c.state(now) != runtime.StateRunning {
		return
	}
	since := now.Sub(c.start)
	at, _ := slices.BinarySearchFunc(c.log(), since, lineAfter)
	used.lines = slices.Insert(used.lines, at, Line{since, line})
	m.planLocked(c, now)
}

// fromNow is a tail that leaves out every line there is.
const fromNow = math.MinInt

// PortForward implements runtime.PortForwarder. Every port of a sandbox that is ready sends
// back what it gets.
func (r *Runtime) PortForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	_, err := verb(ctx, r, "PortForward", req, func(r *Runtime, ctx context.Context, req runtime.PortForwardRequest) (nothing, error) {
		return nothing{}, r.portForward(ctx, req, conn)
	})
	return err
}

func (r *Runtime) portForward(ctx context.Context, req runtime.PortForwardRequest, conn io.ReadWriteCloser) error {
	defer conn.Close()
	if _, err := r.m.lockReady(); err != nil {
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
