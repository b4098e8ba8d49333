package memory

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/internal/executor"
)

// runShell runs the commands after -c, or without -c the commands of its input line by line. A script file as
// argument is ignored and gives exit code 0.
func runShell(ctx context.Context, p *Process) int32 {
	switch {
	case len(p.Args) >= 3 && p.Args[1] == "-c":
		commands, whole := parseShellCommands(p.Args[2])
		return p.runCommands(ctx, commands, whole)
	case slices.ContainsFunc(p.Args[1:], func(arg string) bool { return !strings.HasPrefix(arg, "-") }):
		return 0 // A script file of the image, which the runtime does not have.
	}
	return p.runInteractiveShell(ctx)
}

// runCommands runs parsed shell commands up to exit, exec or the end of ctx, and returns the last exit code. At
// an unknown program it stops and returns 0. It also returns 0 if it reaches the end and complete is false,
// because the parser did not understand the rest of the text.
func (p *Process) runCommands(ctx context.Context, commands []shellCommand, complete bool) int32 {
	s := interpreter{p: p}
	for _, c := range commands {
		known := s.runCommandUnlessSkipped(ctx, c)
		switch {
		case s.exited || ctx.Err() != nil:
			return s.code
		case !known:
			return 0
		}
	}
	if !complete {
		return 0
	}
	return s.code
}

// interpreter is the state of a running shell.
type interpreter struct {
	p      *Process
	code   int32 // exit code of the last command
	exited bool  // after exit or exec
}

// runCommandUnlessSkipped runs one shell command and stores its exit code; exit and exec also end the shell. A
// command after && or || is skipped if the last exit code requires that. trap, set and cd do nothing. It
// returns false if the program is unknown.
func (s *interpreter) runCommandUnlessSkipped(ctx context.Context, c shellCommand) (isKnown bool) {
	if c.after == "&&" && s.code != 0 || c.after == "||" && s.code == 0 {
		return true
	}
	argv := c.argv
	if argv[0] == "exec" && len(argv) > 1 {
		argv, s.exited = argv[1:], true
	}
	switch argv[0] {
	case "exit":
		s.code, s.exited = Run{Exit: s.code}.withExitArgs(argv[1:]).Exit, true
		return true
	case "trap", "set", "cd":
		return true // No built-in program depends on these.
	case "command":
		return s.runCommandLookup(argv[1:])
	}
	command := s.p.findCommand(argv[0])
	if command == nil {
		s.exited = false
		return false
	}
	p := *s.p
	p.Args = argv
	if c.toStderr {
		p.Stdout = p.Stderr
	}
	if c.toNull {
		p.Stdout = io.Discard
	}
	s.code = command(ctx, &p)
	return true
}

// runCommandLookup runs "command -v NAME", with which clients search for a better shell. It prints nothing; it
// sets exit code 0 if the program exists and 127 if not. It returns false for any other arguments.
func (s *interpreter) runCommandLookup(args []string) (supported bool) {
	if len(args) != 2 || args[0] != "-v" {
		return false
	}
	if s.code = 0; s.p.findCommand(args[1]) == nil {
		s.code = 127
	}
	return true
}

// runInteractiveShell runs the commands of its input line by line, with a prompt on a terminal. A line with
// unsupported syntax prints an error and sets exit code 2. It returns the last exit code after exit or exec, at
// the end of the input or when ctx ends.
func (p *Process) runInteractiveShell(ctx context.Context) int32 {
	s := interpreter{p: p}
	p.console.SetInterruptHandler(nil)
	for !s.exited && ctx.Err() == nil {
		if p.TTY {
			_, _ = io.WriteString(p.Stdout, "/ # ") // The next Read returns the error.
		}
		line, err := p.readLine()
		commands, whole := parseShellCommands(line)
		for i := 0; i < len(commands) && !s.exited; i++ {
			s.runInterruptibleCommand(ctx, commands[i])
		}
		if !whole {
			s.code = 2
			_, _ = io.WriteString(p.Stderr, "sh: only simple commands are supported\n")
		}
		if err != nil {
			break
		}
	}
	return s.code
}

// runInterruptibleCommand runs a command that Ctrl-C interrupts without an exit of the shell; the exit code is
// then 130. If the program is unknown, it prints an error and sets exit code 127.
func (s *interpreter) runInterruptibleCommand(ctx context.Context, c shellCommand) {
	inner, cancel := executor.WithCancel(ctx)
	defer cancel()
	s.p.console.SetInterruptHandler(cancel)
	known := s.runCommandUnlessSkipped(inner, c)
	s.p.console.SetInterruptHandler(nil)
	switch {
	case !known:
		s.code = 127
		_, _ = io.WriteString(s.p.Stderr, "sh: "+c.argv[0]+": not found\n")
	case inner.Err() != nil && ctx.Err() == nil:
		s.code = exitCodeInterrupted
		_, _ = io.WriteString(s.p.Stderr, "^C\n")
	}
}

// maxInputLine limits a line of shell input, in bytes.
const maxInputLine = 64 << 10

// readLine reads one line of stdin, without the line break, up to maxInputLine bytes. It reads byte by byte
// because the next command reads the rest of the same input.
func (p *Process) readLine() (string, error) {
	var line strings.Builder
	for b := make([]byte, 1); line.Len() < maxInputLine; {
		n, err := p.Stdin.Read(b)
		if n == 0 && err != nil || b[0] == '\n' {
			return line.String(), err
		}
		line.WriteByte(b[0])
	}
	return line.String(), nil
}
