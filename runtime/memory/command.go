package memory

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// runForCommand returns the Run (how long a container runs, what it prints, how it exits) for a command. A
// command that predictRun does not understand completely runs until it is stopped.
func runForCommand(argv []string) Run {
	run, whole := predictRun(argv)
	if !whole {
		return Run{Forever: true, IgnoreTerm: run.IgnoreTerm, Print: run.Print}
	}
	return run
}

// predictRun computes in advance how long a command runs, what it prints and its exit code. It supports true,
// false, echo, sleep, and a shell with a sequence of these, exit, trap "" TERM and trap 'exit 143' TERM.
// complete is false if the command contains anything else; run then covers the part before it.
func predictRun(argv []string) (run Run, complete bool) {
	if len(argv) == 0 {
		return run, false
	}
	if isShell(stripBinDir(argv[0])) {
		if len(argv) >= 3 && argv[1] == "-c" {
			return predictShellRun(argv[2])
		}
		return run, false
	}
	return run, run.appendCommand(argv)
}

// isShell reports whether a program is a POSIX shell: sh, bash, ash or dash.
func isShell(name string) bool { return slices.Contains([]string{"sh", "bash", "ash", "dash"}, name) }

// predictShellRun computes in advance what the text after sh -c does. It stops at the first command that
// predictRun does not support; complete is then false.
func predictShellRun(text string) (run Run, complete bool) {
	commands, complete := parseUnconditionalCommands(text)
	for _, c := range commands {
		argv := c.argv
		last := argv[0] == "exec" && len(argv) > 1
		if last {
			argv = argv[1:]
		}
		switch {
		case argv[0] == "exit":
			return run.withExitArgs(argv[1:]), true
		}
		if !run.appendCommandOrTermTrap(argv) {
			return run, false
		}
		if run.Forever || last {
			return run, true
		}
	}
	return run, complete
}

// appendCommandOrTermTrap adds the effect of true, false, sleep, echo, trap "" TERM or trap 'exit 143' TERM to
// the run. trap "" TERM sets IgnoreTerm. trap 'exit 143' TERM changes nothing because that is the default. It
// returns false if the command is not supported.
func (r *Run) appendCommandOrTermTrap(argv []string) (supported bool) {
	switch {
	case argv[0] == "trap" && trapIgnoresTerm(argv[1:]):
		r.IgnoreTerm = true
		return true
	case argv[0] == "trap" && trapExitsOnTerm(argv[1:]):
		return true // The default for every container.
	}
	return r.appendCommand(argv)
}

// appendCommand adds the duration, output and exit code of true, false, sleep or echo to the run. It returns
// false if the command is not supported.
func (r *Run) appendCommand(argv []string) (supported bool) {
	switch stripBinDir(argv[0]) {
	case "true", ":":
		r.Exit = 0
	case "false":
		r.Exit = 1
	case "sleep":
		return r.appendSleep(argv[1:])
	case "echo":
		return r.appendEchoAndExitZeroUnlessOption(argv[1:])
	default:
		return false
	}
	return true
}

// appendEchoAndExitZeroUnlessOption adds a log line with the arguments of echo and sets exit code 0. It returns
// false, and changes nothing, if the first argument begins with "-".
func (r *Run) appendEchoAndExitZeroUnlessOption(args []string) (supported bool) {
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		return false // The meaning of options differs between shells.
	}
	r.Print = append(r.Print, Line{r.For, strings.Join(args, " ")})
	r.Exit = 0
	return true
}

// appendSleep adds the duration of sleep to the run and sets exit code 0. The arguments are numbers with an
// optional unit s, m, h or d; infinity makes the run endless. Invalid or missing arguments set exit code 1
// instead. It always returns true.
func (r *Run) appendSleep(args []string) (supported bool) {
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

// withExitArgs returns a copy of the run with the exit code of the shell command "exit args". Without an
// argument the exit code of the last command stays. An argument that is no number gives exit code 2.
func (r Run) withExitArgs(args []string) Run {
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

// trapIgnoresTerm reports whether the arguments of the shell command trap make the shell ignore TERM, as in
// trap "" TERM.
func trapIgnoresTerm(args []string) bool {
	return len(args) > 1 && args[0] == "" && containsTermSignal(args[1:])
}

// trapExitsOnTerm reports whether the arguments of the shell command trap are 'exit 143' and TERM.
func trapExitsOnTerm(args []string) bool {
	return len(args) == 2 && args[0] == "exit 143" && containsTermSignal(args[1:])
}

// containsTermSignal reports whether signals contains TERM, SIGTERM or 15.
func containsTermSignal(signals []string) bool {
	for _, signal := range signals {
		if signal == "TERM" || signal == "SIGTERM" || signal == "15" {
			return true
		}
	}
	return false
}

// stripBinDir returns path without a leading /bin/ or /usr/bin/. Any other path is returned unchanged.
func stripBinDir(path string) string {
	for _, dir := range []string{"/bin/", "/usr/bin/"} {
		if name, ok := strings.CutPrefix(path, dir); ok {
			return name
		}
	}
	return path
}
