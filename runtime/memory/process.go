package memory

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory/internal/console"
	"github.com/podkeel/podkeel/runtime/memory/internal/files"
)

// Command is a program of containers, made in Go. It is called for every process of its name,
// concurrently, by the goroutine that called ExecStream, Exec or Attach, and returns the exit
// code. ctx ends with the container, with the client, and with Ctrl-C on a terminal; the
// process has then ended with 137, with an error, and with 130, whatever is returned.
type Command func(ctx context.Context, p *Process) (exitCode int32)

// Process is a process in a container, as its Command sees it. It is not used after the
// Command has returned.
type Process struct {
	Pod       runtime.PodRef
	Container string
	Args      []string // with its name
	Env       []runtime.EnvVar
	// Stdin is what the client sends, to its end; nothing if it sends nothing. A Read ends
	// with ctx. A terminal gives lines, and io.EOF for Ctrl-D.
	Stdin io.Reader
	// Stdout and Stderr are what the client gets, if it takes it. An error means that it is
	// gone. With a terminal they are one.
	Stdout, Stderr io.Writer
	TTY            bool
	// Resized waits for the next size of the terminal, the first of which comes at once. It
	// is false at the end of ctx, or if no more will come.
	Resized func(ctx context.Context) (runtime.TerminalSize, bool)

	r       *Runtime
	c       *container
	files   *files.Tree
	console *console.Console
}

// ReadFile returns a file of the container. Relative names are in its working directory.
// An error is a fs.PathError.
func (p *Process) ReadFile(name string) ([]byte, error) {
	data, err := p.files.Read(p.absolutePath(name))
	return slices.Clone(data), err
}

// WriteFile writes a file of the container, and makes the directories above it. A container
// has 16 MiB and 4096 files at most, all of a Runtime 256 MiB; they go with its record.
func (p *Process) WriteFile(name string, data []byte) error {
	return p.files.Write(p.absolutePath(name), data, 0o644, p.r.m.clock.Now())
}

// commandRule is what SetCommand was given.
type commandRule struct {
	selector Selector
	name     string
	run      Command
}

// SetCommand gives a program to present and future containers, for processes to come: those
// of a command with this name, without its directory if that is /bin or /usr/bin. Of several
// that match, the one set last holds; one for the same For and name replaces the earlier one,
// and nil takes it back. It wins over what this package does for that name.
//
// A container whose own command it is runs until it is stopped; who attaches to it with
// input runs the program.
func (r *Runtime) SetCommand(selector Selector, name string, run Command) {
	m := r.m
	m.lock()
	defer m.unlock()
	kept := slices.DeleteFunc(slices.Clone(m.mu.commandRules), func(o commandRule) bool { return o.selector == selector && o.name == name })
	if run != nil {
		kept = append(kept, commandRule{selector, name, run})
	}
	m.mu.commandRules = kept
}

// findCommandLocked is the program of a name in a container; nil if there is none.
func (m *machine) findCommandLocked(c *container, name string) Command {
	name = commandName(name)
	for i := len(m.mu.commandRules) - 1; i >= 0; i-- {
		if o := m.mu.commandRules[i]; o.name == name && o.selector.Matches(*c.ref, c.name) {
			return o.run
		}
	}
	return builtinCommand(name)
}

// parseCommand is findCommandLocked.
func (p *Process) findCommand(name string) Command {
	p.r.m.lock()
	defer p.r.m.unlock()
	return p.r.m.findCommandLocked(p.c, name)
}

// defaultDirs are in every container, whatever its image.
var defaultDirs = []string{"/bin", "/dev", "/etc", "/home", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/usr/local", "/var/lib", "/var/log"}

// containerFiles is the tree of a container.
func (m *machine) containerFiles(c *container) *files.Tree {
	m.lock()
	defer m.unlock()
	used := c.ensureExtras()
	if used.files == nil {
		used.files = files.New(&m.fileLimits, append(slices.Clone(defaultDirs), c.spec.workingDir)...)
	}
	if c.removed {
		used.files.Close()
	}
	return used.files
}

// runProcess runs a process in a container that runs, connected with a client, and returns its
// exit code.
func (r *Runtime) runProcess(ctx context.Context, c *container, config console.Config, run Command) (int32, error) {
	inner, con := console.Open(ctx, r.consoleConfig(c, config))
	defer con.Close()
	return r.runProcessOnConsole(ctx, inner, c, config.TTY, con, run)
}

// consoleConfig completes the configuration of a console for a process in a container.
func (r *Runtime) consoleConfig(c *container, config console.Config) console.Config {
	config.Executor = r.executor
	config.Ended = func(ctx context.Context) error { return r.waitWhileState(ctx, c, runtime.StateRunning) }
	return config
}

// runProcessOnConsole is runProcess with a console that was opened, and its context.
func (r *Runtime) runProcessOnConsole(ctx, processCtx context.Context, c *container, tty bool, con *console.Console, run Command) (int32, error) {
	code := run(processCtx, &Process{
		Pod: *c.ref, Container: c.name, Env: slices.Clone(c.spec.env), TTY: tty,
		Stdin: con.Stdin, Stdout: con.Stdout, Stderr: con.Stderr, Resized: con.Resized,
		r: r, c: c, files: r.m.containerFiles(c), console: con,
	})
	now := r.m.lock()
	over := c.removed || c.state(now) != runtime.StateRunning
	r.m.unlock()
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case over:
		return exitCodeKilled, nil
	case con.Interrupted():
		return exitCodeInterrupted, nil
	}
	return code, con.Err()
}

// sleepFor waits, and reports whether that was all of the time.
func (p *Process) sleepFor(ctx context.Context, run Run) bool {
	until := time.Time{}
	if !run.Forever {
		until = p.r.m.clock.Now().Add(run.For)
	}
	all, err := p.r.waitWhileStateUntil(ctx, p.c, runtime.StateRunning, until)
	return all && err == nil
}
