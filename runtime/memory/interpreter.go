package memory

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/internal/executor"
)

// shell runs commands in a row: those of -c, or of its input line by line.
func shell(ctx context.Context, p *Process) int32 {
	switch {
	case len(p.Args) >= 3 && p.Args[1] == "-c":
		commands, whole := shellCommands(p.Args[2])
		return p.script(ctx, commands, whole)
	case slices.ContainsFunc(p.Args[1:], func(arg string) bool { return !strings.HasPrefix(arg, "-") }):
		return 0 // A file of the image.
	}
	return p.converse(ctx)
}

// script runs commands, up to the first that is not known or not read, which ends with 0.
func (p *Process) script(ctx context.Context, commands []shellCommand, whole bool) int32 {
	s := interpreter{p: p}
	for _, c := range commands {
		known := s.run(ctx, c)
		switch {
		case s.over || ctx.Err() != nil:
			return s.code
		case !known:
			return 0
		}
	}
	if !whole {
		return 0
	}
	return s.code
}

// interpreter is a shell that runs.
type interpreter struct {
	p    *Process
	code int32 // of the last command
	over bool
}

// run runs one command. It reports false if there is none of that name.
func (s *interpreter) run(ctx context.Context, c shellCommand) bool {
	if c.after == "&&" && s.code != 0 || c.after == "||" && s.code == 0 {
		return true
	}
	argv := c.argv
	if argv[0] == "exec" && len(argv) > 1 {
		argv, s.over = argv[1:], true
	}
	switch argv[0] {
	case "exit":
		s.code, s.over = Run{Exit: s.code}.exit(argv[1:]).Exit, true
		return true
	case "trap", "set", "cd":
		return true // Nothing here depends on it.
	case "command":
		return s.find(argv[1:])
	}
	command := s.p.command(argv[0])
	if command == nil {
		s.over = false
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

// find is command -v, by which clients look for a better shell. It says nothing but its code.
func (s *interpreter) find(args []string) bool {
	if len(args) != 2 || args[0] != "-v" {
		return false
	}
	if s.code = 0; s.p.command(args[1]) == nil {
		s.code = 127
	}
	return true
}

// converse runs the commands of its input, and asks for them on a terminal.
func (p *Process) converse(ctx context.Context) int32 {
	s := interpreter{p: p}
	p.console.Foreground(nil)
	for !s.over && ctx.Err() == nil {
		if p.TTY {
			_, _ = io.WriteString(p.Stdout, "/ # ") // The next Read will tell.
		}
		line, err := p.line()
		commands, whole := shellCommands(line)
		for i := 0; i < len(commands) && !s.over; i++ {
			s.foreground(ctx, commands[i])
		}
		if !whole {
			s.code = 2
			_, _ = io.WriteString(p.Stderr, "sh: only simple commands are known here\n")
		}
		if err != nil {
			break
		}
	}
	return s.code
}

// foreground runs a command, which Ctrl-C ends alone.
func (s *interpreter) foreground(ctx context.Context, c shellCommand) {
	inner, cancel := executor.WithCancel(ctx)
	defer cancel()
	s.p.console.Foreground(cancel)
	known := s.run(inner, c)
	s.p.console.Foreground(nil)
	switch {
	case !known:
		s.code = 127
		_, _ = io.WriteString(s.p.Stderr, "sh: "+c.argv[0]+": not found\n")
	case inner.Err() != nil && ctx.Err() == nil:
		s.code = codeInterrupted
		_, _ = io.WriteString(s.p.Stderr, "^C\n")
	}
}

// longestLine is how many bytes a line of a shell's input may have.
const longestLine = 64 << 10

// line reads up to the end of a line and no further, since commands read on.
func (p *Process) line() (string, error) {
	var line strings.Builder
	for b := make([]byte, 1); line.Len() < longestLine; {
		n, err := p.Stdin.Read(b)
		if n == 0 && err != nil || b[0] == '\n' {
			return line.String(), err
		}
		line.WriteByte(b[0])
	}
	return line.String(), nil
}
