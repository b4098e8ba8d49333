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
	data, err := p.files.Read(p.abs(name))
	return slices.Clone(data), err
}

// WriteFile writes a file of the container, and makes the directories above it. A container
// has 16 MiB and 4096 files at most, all of a Runtime 256 MiB; they go with its record.
func (p *Process) WriteFile(name string, data []byte) error {
	return p.files.Write(p.abs(name), data, 0o644, p.r.m.clock.Now())
}

// ownCommand is what SetCommand was given.
type ownCommand struct {
	to   For
	name string
	run  Command
}

// SetCommand gives a program to present and future containers, for processes to come: those
// of a command with this name, without its directory if that is /bin or /usr/bin. Of several
// that match, the one set last holds; one for the same For and name replaces the earlier one,
// and nil takes it back. It wins over what this package does for that name.
//
// A container whose own command it is runs until it is stopped; who attaches to it with
// input runs the program.
func (r *Runtime) SetCommand(to For, name string, run Command) {
	m := r.m
	m.lock()
	defer m.unlock()
	kept := slices.DeleteFunc(slices.Clone(m.mu.commands), func(o ownCommand) bool { return o.to == to && o.name == name })
	if run != nil {
		kept = append(kept, ownCommand{to, name, run})
	}
	m.mu.commands = kept
}

// commandLocked is the program of a name in a container; nil if there is none.
func (m *machine) commandLocked(c *container, name string) Command {
	name = program(name)
	for i := len(m.mu.commands) - 1; i >= 0; i-- {
		if o := m.mu.commands[i]; o.name == name && o.to.Matches(*c.ref, c.name) {
			return o.run
		}
	}
	return builtin(name)
}

// command is commandLocked.
func (p *Process) command(name string) Command {
	p.r.m.lock()
	defer p.r.m.unlock()
	return p.r.m.commandLocked(p.c, name)
}

// usualDirs are in every container, whatever its image.
var usualDirs = []string{"/bin", "/dev", "/etc", "/home", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/usr/local", "/var/lib", "/var/log"}

// filesOf is the tree of a container.
func (m *machine) filesOf(c *container) *files.Tree {
	m.lock()
	defer m.unlock()
	used := c.uses()
	if used.files == nil {
		used.files = files.New(&m.room, append(slices.Clone(usualDirs), c.spec.workingDir)...)
	}
	if c.gone {
		used.files.Close()
	}
	return used.files
}

// runIn runs a process in a container that runs, connected with a client, and returns its
// exit code.
func (r *Runtime) runIn(ctx context.Context, c *container, config console.Config, run Command) (int32, error) {
	inner, con := console.Open(ctx, r.connected(c, config))
	defer con.Close()
	return r.runOn(ctx, inner, c, config.TTY, con, run)
}

// connected completes the configuration of a console for a process in a container.
func (r *Runtime) connected(c *container, config console.Config) console.Config {
	config.Executor = r.executor
	config.Ended = func(ctx context.Context) error { return r.await(ctx, c, runtime.StateRunning) }
	return config
}

// runOn is runIn with a console that was opened, and its context.
func (r *Runtime) runOn(ctx, inner context.Context, c *container, tty bool, con *console.Console, run Command) (int32, error) {
	code := run(inner, &Process{
		Pod: *c.ref, Container: c.name, Env: slices.Clone(c.spec.env), TTY: tty,
		Stdin: con.Stdin, Stdout: con.Stdout, Stderr: con.Stderr, Resized: con.Resized,
		r: r, c: c, files: r.m.filesOf(c), console: con,
	})
	now := r.m.lock()
	over := c.gone || c.state(now) != runtime.StateRunning
	r.m.unlock()
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case over:
		return codeKilled, nil
	case con.Interrupted():
		return codeInterrupted, nil
	}
	return code, con.Err()
}

// sleep waits, and reports whether that was all of the time.
func (p *Process) sleep(ctx context.Context, run Run) bool {
	until := time.Time{}
	if !run.Forever {
		until = p.r.m.clock.Now().Add(run.For)
	}
	all, err := p.r.awaitUntil(ctx, p.c, runtime.StateRunning, until)
	return all && err == nil
}
