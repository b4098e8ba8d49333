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

// exitCodeInterrupted is the exit code of a process that Ctrl-C terminated.
const exitCodeInterrupted = 130

// builtinCommand returns the built-in implementation of a program, or nil if there is none.
func builtinCommand(name string) Command {
	if isShell(name) {
		return runShell
	}
	switch name {
	case "true", ":", "false", "sleep":
		return runTrueFalseOrSleep
	case "echo":
		return runEcho
	case "cat":
		return runCat
	case "tar":
		return runTar
	case "test":
		return runTest
	case "ls":
		return runLs
	case "env":
		return runEnv
	case "stty":
		return runStty
	}
	return nil
}

// runTrueFalseOrSleep simulates true, false or sleep: it waits for the time of sleep and returns the exit code.
// It returns early when the container exits or ctx ends.
func runTrueFalseOrSleep(ctx context.Context, p *Process) int32 {
	var run Run
	run.appendCommand(p.Args)
	if !p.sleepFor(ctx, run) && ctx.Err() == nil {
		p.console.Cancel() // The container exited at the same time.
	}
	return run.Exit
}

// runEcho prints its arguments in one line. With -n as the first argument it prints no line break.
func runEcho(_ context.Context, p *Process) int32 {
	words, end := p.Args[1:], "\n"
	if len(words) > 0 && words[0] == "-n" {
		words, end = words[1:], ""
	}
	_, err := io.WriteString(p.Stdout, strings.Join(words, " ")+end)
	return p.printErrors(err)
}

// printErrors writes each error that is not nil to stderr, in the format of common Unix programs. It returns
// exit code 1, or 0 if all errors are nil.
func (p *Process) printErrors(errs ...error) (exitCode int32) {
	for _, err := range errs {
		var named *fs.PathError
		switch many, joined := err.(interface{ Unwrap() []error }); {
		case err == nil:
			continue
		case joined:
			p.printErrors(many.Unwrap()...)
		case errors.As(err, &named) && errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(p.Stderr, "%s: can't open %q: No such file or directory\n", stripBinDir(p.Args[0]), named.Path)
		case errors.As(err, &named):
			fmt.Fprintf(p.Stderr, "%s: %q: %v\n", stripBinDir(p.Args[0]), named.Path, named.Err)
		default:
			fmt.Fprintf(p.Stderr, "%s: %v\n", stripBinDir(p.Args[0]), err)
		}
		exitCode = 1
	}
	return exitCode
}

// runCat copies the named files to standard output. It copies standard input if no file is named and for each
// name "-". A file that cannot be read gives an error line and exit code 1.
func runCat(_ context.Context, p *Process) (code int32) {
	names := p.Args[1:]
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		if name == "-" {
			_, err := io.Copy(p.Stdout, p.Stdin)
			code = max(code, p.printErrors(err))
			continue
		}
		data, err := p.ReadFile(name)
		if err == nil {
			_, err = p.Stdout.Write(data)
		}
		code = max(code, p.printErrors(err))
	}
	return code
}

// absolutePath returns an absolute name unchanged. It joins a relative name to the container's working
// directory.
func (p *Process) absolutePath(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join("/", p.c.spec.workingDir, name)
}

// runTar implements the part of tar that kubectl cp uses: it packs files to stdout or unpacks stdin into a
// directory. Other modes print an error and return exit code 1.
func runTar(_ context.Context, p *Process) int32 {
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
		return p.printErrors(p.files.Pack(p.Stdout, p.absolutePath(dir), names))
	case 'x':
		return p.printErrors(p.files.Unpack(p.Stdin, p.absolutePath(dir)))
	}
	return p.printErrors(errors.New("only modes c and x, on the standard streams, are supported"))
}

// runTest implements "test -d", "test -f" and "test -e", which check a path. The exit code is 0 if the check
// holds, and 1 if not. Any other test gives exit code 0.
func runTest(_ context.Context, p *Process) int32 {
	if len(p.Args) != 3 || !slices.Contains([]string{"-d", "-f", "-e"}, p.Args[1]) {
		return 0 // Any unknown command succeeds.
	}
	dir, ok := p.files.Stat(p.absolutePath(p.Args[2]))
	if ok && (p.Args[1] == "-e" || dir == (p.Args[1] == "-d")) {
		return 0
	}
	return 1
}

// runLs prints the names in the given directories, or in the working directory, one per line. It ignores
// options.
func runLs(_ context.Context, p *Process) (code int32) {
	names := slices.DeleteFunc(slices.Clone(p.Args[1:]), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if len(names) == 0 {
		names = []string{"."}
	}
	for _, name := range names {
		all, err := p.files.List(p.absolutePath(name))
		for _, entry := range all {
			fmt.Fprintln(p.Stdout, entry)
		}
		code = max(code, p.printErrors(err))
	}
	return code
}

// runEnv prints the environment variables of the process as NAME=value lines.
func runEnv(_ context.Context, p *Process) int32 {
	for _, v := range p.Env {
		fmt.Fprintf(p.Stdout, "%s=%s\n", v.Name, v.Value)
	}
	return 0
}

// runStty prints the rows and columns of the terminal for "stty size", and nothing for other arguments. Without
// a terminal it prints an error and returns exit code 1.
func runStty(ctx context.Context, p *Process) int32 {
	if !p.TTY {
		return p.printErrors(errors.New("standard input: not a terminal"))
	}
	if size, ok := p.console.Size(ctx); ok && slices.Contains(p.Args, "size") {
		fmt.Fprintln(p.Stdout, size.Rows, size.Columns)
	}
	return 0
}
