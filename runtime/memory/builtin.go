package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// codeInterrupted is that of a process that Ctrl-C has ended.
const codeInterrupted = 130

// builtin is what this package does for a name; nil is nothing.
func builtin(name string) Command {
	if isShell(name) {
		return shell
	}
	switch name {
	case "true", ":", "false", "sleep":
		return plain
	case "echo":
		return echo
	case "cat":
		return cat
	case "tar":
		return tarProgram
	case "test":
		return test
	case "ls":
		return list
	case "env":
		return env
	case "stty":
		return stty
	}
	return nil
}

// plain is what takes time and says nothing.
func plain(ctx context.Context, p *Process) int32 {
	var run Run
	run.then(p.Args)
	if !p.sleep(ctx, run) && ctx.Err() == nil {
		p.console.End() // The container has ended at that very time.
	}
	return run.Exit
}

func echo(_ context.Context, p *Process) int32 {
	words, end := p.Args[1:], "\n"
	if len(words) > 0 && words[0] == "-n" {
		words, end = words[1:], ""
	}
	_, err := io.WriteString(p.Stdout, strings.Join(words, " ")+end)
	return p.failed(err)
}

// failed says what went wrong, as programs do, and returns their code.
func (p *Process) failed(errs ...error) (code int32) {
	for _, err := range errs {
		var named *fs.PathError
		switch many, joined := err.(interface{ Unwrap() []error }); {
		case err == nil:
			continue
		case joined:
			p.failed(many.Unwrap()...)
		case errors.As(err, &named) && errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(p.Stderr, "%s: can't open %q: No such file or directory\n", program(p.Args[0]), named.Path)
		case errors.As(err, &named):
			fmt.Fprintf(p.Stderr, "%s: %q: %v\n", program(p.Args[0]), named.Path, named.Err)
		default:
			fmt.Fprintf(p.Stderr, "%s: %v\n", program(p.Args[0]), err)
		}
		code = 1
	}
	return code
}

// cat copies its input, or files.
func cat(_ context.Context, p *Process) (code int32) {
	names := p.Args[1:]
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		if name == "-" {
			_, err := io.Copy(p.Stdout, p.Stdin)
			code = max(code, p.failed(err))
			continue
		}
		data, err := p.ReadFile(name)
		if err == nil {
			_, err = p.Stdout.Write(data)
		}
		code = max(code, p.failed(err))
	}
	return code
}

// abs is a name in the tree of the container.
func (p *Process) abs(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join("/", p.c.spec.workingDir, name)
}

// tarProgram is tar as kubectl cp runs it: it packs or unpacks by its own streams.
func tarProgram(_ context.Context, p *Process) int32 {
	var mode rune
	dir, names := ".", []string(nil)
	args := p.Args[1:]
	for i := 0; i < len(args); i++ {
		letters, short := strings.CutPrefix(args[i], "-")
		switch {
		case strings.HasPrefix(letters, "-") || args[i] == "-":
		case !short && i > 0:
			names = append(names, args[i])
		default:
			for _, letter := range letters {
				switch {
				case strings.ContainsRune("cx", letter):
					mode = letter
				case letter == 'C' && i+1 < len(args):
					i++
					dir = args[i]
				}
			}
		}
	}
	switch mode {
	case 'c':
		return p.failed(p.files.Pack(p.Stdout, p.abs(dir), names))
	case 'x':
		return p.failed(p.files.Unpack(p.Stdin, p.abs(dir)))
	}
	return p.failed(errors.New("only c and x, by the standard streams, are known here"))
}

// test knows -d, -f and -e.
func test(_ context.Context, p *Process) int32 {
	if len(p.Args) != 3 || !slices.Contains([]string{"-d", "-f", "-e"}, p.Args[1]) {
		return 0 // As every command that is not known.
	}
	dir, ok := p.files.Stat(p.abs(p.Args[2]))
	if ok && (p.Args[1] == "-e" || dir == (p.Args[1] == "-d")) {
		return 0
	}
	return 1
}

func list(_ context.Context, p *Process) (code int32) {
	names := slices.DeleteFunc(slices.Clone(p.Args[1:]), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if len(names) == 0 {
		names = []string{"."}
	}
	for _, name := range names {
		all, err := p.files.List(p.abs(name))
		for _, entry := range all {
			fmt.Fprintln(p.Stdout, entry)
		}
		code = max(code, p.failed(err))
	}
	return code
}

func env(_ context.Context, p *Process) int32 {
	for _, v := range p.Env {
		fmt.Fprintf(p.Stdout, "%s=%s\n", v.Name, v.Value)
	}
	return 0
}

// stty says the size of the terminal.
func stty(ctx context.Context, p *Process) int32 {
	if !p.TTY {
		return p.failed(errors.New("standard input: not a terminal"))
	}
	if size, ok := p.console.Size(ctx); ok && slices.Contains(p.Args, "size") {
		fmt.Fprintln(p.Stdout, size.Rows, size.Columns)
	}
	return 0
}
