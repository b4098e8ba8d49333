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

// Command is a program in Go that runs inside containers. It is called for every process with its
// name, concurrently, on the goroutine that called ExecStream, Exec or Attach. It returns the exit
// code. ctx ends when the container exits, when the client disconnects, and after Ctrl-C on a
// terminal. The caller then sees exit code 137, an error, or exit code 130, whatever the Command
// returns.
type Command func(ctx context.Context, p *Process) (exitCode int32)

// Process is a process in a container. It must not be used after its Command has returned.
type Process struct {
	Pod       runtime.PodRef
	Container string
	Args      []string // including the name of the program
	Env       []runtime.EnvVar
	// Stdin is the input of the client; it is empty if the client sends none. A Read returns when
	// ctx ends. A terminal returns lines, and io.EOF after Ctrl-D.
	Stdin io.Reader
	// Stdout and Stderr are sent to the client. A write error means that the client is gone. With a
	// terminal both are the same stream.
	Stdout, Stderr io.Writer
	TTY            bool
	// Resized waits for the next size of the terminal. The first call returns the current size. It
	// returns false when ctx ends or no further size will follow.
	Resized func(ctx context.Context) (runtime.TerminalSize, bool)

	r       *Runtime
	c       *container
	files   *files.Tree
	console *console.Console
}

// ReadFile returns the content of a file of the container. A relative name is below the working
// directory. Errors are of type *fs.PathError.
func (p *Process) ReadFile(name string) ([]byte, error) {
	data, err := p.files.Read(p.absolutePath(name))
	return slices.Clone(data), err
}

// WriteFile writes a file of the container and creates its parent directories. A container may have
// 16 MiB in 4096 files, and all containers of a Runtime together 256 MiB. RemoveContainer deletes
// the files.
func (p *Process) WriteFile(name string, data []byte) error {
	return p.files.Write(p.absolutePath(name), data, 0o644, p.r.m.clock.Now())
}

// commandRule is one call of SetCommand.
type commandRule struct {
	selector Selector
	name     string
	run      Command
}

// SetCommand sets the program for a command name, in all matching containers, present and future,
// for later processes. A command in /bin or /usr/bin matches by its base name. If several selectors
// match, the newest call wins. A call with the same selector and name replaces the earlier one, and
// nil removes it. SetCommand takes precedence over the built-in programs.
//
// A container whose main command has that name runs until it is stopped. A client that attaches to
// it with stdin runs the program.
func (r *Runtime) SetCommand(selector Selector, name string, run Command) {
	m := r.m
	m.lockAndPublish()
	defer m.unlockAndSignal()
	kept := slices.DeleteFunc(slices.Clone(m.mu.commandRules), func(o commandRule) bool { return o.selector == selector && o.name == name })
	if run != nil {
		kept = append(kept, commandRule{selector, name, run})
	}
	m.mu.commandRules = kept
}

// findRegisteredOrBuiltinCommandLocked returns the program for a command name in a container: the newest matching one that a test
// registered, or else the built-in one. It returns nil if there is none.
func (m *machine) findRegisteredOrBuiltinCommandLocked(c *container, name string) Command {
	name = stripBinDir(name)
	for i := len(m.mu.commandRules) - 1; i >= 0; i-- {
		if o := m.mu.commandRules[i]; o.name == name && o.selector.Matches(*c.ref, c.name) {
			return o.run
		}
	}
	return builtinCommand(name)
}

// findCommand returns the program for a command name in the container of the process, or nil if there is none.
func (p *Process) findCommand(name string) Command {
	p.r.m.lockAndPublish()
	defer p.r.m.unlockAndSignal()
	return p.r.m.findRegisteredOrBuiltinCommandLocked(p.c, name)
}

// defaultDirs are the directories of every container, whatever its image.
var defaultDirs = []string{"/bin", "/dev", "/etc", "/home", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/usr/local", "/var/lib", "/var/log"}

// ensureContainerFiles returns the file tree of a container, and creates a missing tree. If the
// container was removed, it closes the tree before it returns it.
func (m *machine) ensureContainerFiles(c *container) *files.Tree {
	m.lockAndPublish()
	defer m.unlockAndSignal()
	used := c.ensureExtras()
	if used.files == nil {
		used.files = files.New(&m.fileLimits, append(slices.Clone(defaultDirs), c.spec.workingDir)...)
	}
	if c.removed {
		used.files.Close()
	}
	return used.files
}

// runProcess opens a console for a client, runs a process in a container on it, closes the console and returns
// the exit code.
func (r *Runtime) runProcess(ctx context.Context, c *container, config console.Config, run Command) (int32, error) {
	inner, con := console.Open(ctx, r.consoleConfig(c, config))
	defer con.Close()
	return r.runProcessOnConsole(ctx, inner, c, config.TTY, con, run)
}

// consoleConfig returns a copy of config with the runtime's executor, and with a function Ended that waits for
// the exit of the container.
func (r *Runtime) consoleConfig(c *container, config console.Config) console.Config {
	config.Executor = r.executor
	config.Ended = func(ctx context.Context) error { return r.waitWhileState(ctx, c, runtime.StateRunning) }
	return config
}

// runProcessOnConsole runs a process in a container with an open console, and returns its exit code. It returns
// 137 if the container exited meanwhile, and 130 after Ctrl-C. processCtx is the context of the process; if ctx
// ends, its error is returned.
func (r *Runtime) runProcessOnConsole(ctx, processCtx context.Context, c *container, tty bool, con *console.Console, run Command) (int32, error) {
	code := run(processCtx, &Process{
		Pod: *c.ref, Container: c.name, Env: slices.Clone(c.spec.env), TTY: tty,
		Stdin: con.Stdin, Stdout: con.Stdout, Stderr: con.Stderr, Resized: con.Resized,
		r: r, c: c, files: r.m.ensureContainerFiles(c), console: con,
	})
	now := r.m.lockAndPublish()
	over := c.removed || c.state(now) != runtime.StateRunning
	r.m.unlockAndSignal()
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

// sleepFor waits for the duration of a Run. It returns false if the container exits or ctx ends earlier.
func (p *Process) sleepFor(ctx context.Context, run Run) (completed bool) {
	until := time.Time{}
	if !run.Forever {
		until = p.r.m.clock.Now().Add(run.For)
	}
	all, err := p.r.waitWhileStateUntil(ctx, p.c, runtime.StateRunning, until)
	return all && err == nil
}
