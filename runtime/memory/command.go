package memory

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// commandRun is how a container with a command runs. One that is not plain runs
// until it is stopped.
func commandRun(argv []string) Run {
	run, whole := plainRun(argv)
	if !whole {
		return Run{Forever: true, IgnoreTerm: run.IgnoreTerm, Print: run.Print}
	}
	return run
}

// plainRun is what a command does, as far as it is plain: true, false, echo,
// sleep, and a shell that is given these, exit and trap ” TERM in a row. It
// reports whether that is all of it.
func plainRun(argv []string) (Run, bool) {
	run := Run{}
	if len(argv) == 0 {
		return run, false
	}
	if isShell(program(argv[0])) {
		if len(argv) >= 3 && argv[1] == "-c" {
			return shellRun(argv[2])
		}
		return run, false
	}
	return run, run.then(argv)
}

func isShell(name string) bool { return slices.Contains([]string{"sh", "bash", "ash", "dash"}, name) }

// shellRun reads simple commands up to the first that is not plain.
func shellRun(text string) (run Run, whole bool) {
	commands, whole := rowOf(text)
	for _, c := range commands {
		argv := c.argv
		last := argv[0] == "exec" && len(argv) > 1
		if last {
			argv = argv[1:]
		}
		switch {
		case argv[0] == "exit":
			return run.exit(argv[1:]), true
		}
		if !run.plain(argv) {
			return run, false
		}
		if run.Forever || last {
			return run, true
		}
	}
	return run, whole
}

// plain is then, and knows the traps for TERM.
func (r *Run) plain(argv []string) bool {
	switch {
	case argv[0] == "trap" && ignoresTerm(argv[1:]):
		r.IgnoreTerm = true
		return true
	case argv[0] == "trap" && endsOnTerm(argv[1:]):
		return true // As every container here does.
	}
	return r.then(argv)
}

// then appends a simple command to the run. It reports false if what that does
// is not plain.
func (r *Run) then(argv []string) bool {
	switch program(argv[0]) {
	case "true", ":":
		r.Exit = 0
	case "false":
		r.Exit = 1
	case "sleep":
		return r.sleep(argv[1:])
	case "echo":
		return r.echo(argv[1:])
	default:
		return false
	}
	return true
}

// echo prints its words in one line.
func (r *Run) echo(words []string) bool {
	if len(words) > 0 && strings.HasPrefix(words[0], "-") {
		return false // options are read differently by every shell
	}
	r.Print = append(r.Print, Line{r.For, strings.Join(words, " ")})
	r.Exit = 0
	return true
}

// sleep is the sleep of the coreutils: any number of decimals, each with an
// optional unit of s, m, h or d, or infinity.
func (r *Run) sleep(args []string) bool {
	var total float64
	for _, arg := range args {
		if arg == "infinity" || arg == "inf" {
			r.Forever = true
			return true
		}
		unit := 1.0
		if i := len(arg) - 1; i > 0 {
			if u, ok := map[byte]float64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400}[arg[i]]; ok {
				unit, arg = u, arg[:i]
			}
		}
		n, err := strconv.ParseFloat(arg, 64)
		if err != nil || n < 0 || math.IsNaN(n) {
			r.Exit = 1 // sleep: invalid time interval
			return true
		}
		total += n * unit
	}
	if len(args) == 0 {
		r.Exit = 1 // sleep: missing operand
		return true
	}
	total += r.For.Seconds()
	if total >= math.MaxInt64/float64(time.Second) {
		r.Forever = true
		return true
	}
	r.For = time.Duration(total * float64(time.Second))
	r.Exit = 0
	return true
}

// exit is the run that ends here, with the code given or that of the last
// command.
func (r Run) exit(args []string) Run {
	if len(args) == 0 {
		return r
	}
	code, err := strconv.Atoi(args[0])
	if err != nil {
		code = 2 // sh: exit: Illegal number
	}
	r.Exit = int32(code & 0xff)
	return r
}

func ignoresTerm(args []string) bool { return len(args) > 1 && args[0] == "" && namesTerm(args[1:]) }

func endsOnTerm(args []string) bool {
	return len(args) == 2 && args[0] == "exit 143" && namesTerm(args[1:])
}

func namesTerm(signals []string) bool {
	for _, signal := range signals {
		if signal == "TERM" || signal == "SIGTERM" || signal == "15" {
			return true
		}
	}
	return false
}

// program is the name of a command without the directories everybody knows.
func program(path string) string {
	for _, dir := range []string{"/bin/", "/usr/bin/"} {
		if name, ok := strings.CutPrefix(path, dir); ok {
			return name
		}
	}
	return path
}
