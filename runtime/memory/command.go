package memory

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// commandRun is what a command does, as far as it is obvious: true, false,
// sleep, and a shell that is given these, exit and trap ” TERM in a row.
// Anything else runs until it is stopped.
func commandRun(argv []string) Run {
	forever := Run{Forever: true}
	if len(argv) == 0 {
		return forever
	}
	switch program(argv[0]) {
	case "sh", "bash", "ash", "dash":
		if len(argv) >= 3 && argv[1] == "-c" {
			return shellRun(argv[2])
		}
		return forever
	}
	run := Run{}
	if !run.then(argv) {
		return forever
	}
	return run
}

// shellRun reads simple commands up to the first that is not obvious.
func shellRun(text string) Run {
	run := Run{}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' })
	for _, line := range lines {
		argv := shellWords(line)
		if len(argv) > 1 && argv[0] == "exec" {
			argv = argv[1:]
		}
		switch {
		case len(argv) == 0:
			continue
		case argv[0] == "exit":
			return run.exit(argv[1:])
		case argv[0] == "trap" && ignoresTerm(argv[1:]):
			run.IgnoreTerm = true
			continue
		}
		if !run.then(argv) {
			return Run{Forever: true, IgnoreTerm: run.IgnoreTerm}
		}
		if run.Forever {
			return run
		}
	}
	return run
}

// then appends a simple command to the run. It reports false if what that does
// is not obvious.
func (r *Run) then(argv []string) bool {
	switch program(argv[0]) {
	case "true", ":":
		r.Exit = 0
	case "false":
		r.Exit = 1
	case "sleep":
		return r.sleep(argv[1:])
	default:
		return false
	}
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

func ignoresTerm(args []string) bool {
	if len(args) < 2 || args[0] != "" {
		return false
	}
	for _, signal := range args[1:] {
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

// shellWords splits a line at spaces and takes one pair of quotes off a word.
func shellWords(line string) []string {
	argv := strings.Fields(line)
	for i, w := range argv {
		if n := len(w); n >= 2 && w[0] == w[n-1] && (w[0] == '\'' || w[0] == '"') {
			argv[i] = w[1 : n-1]
		}
	}
	return argv
}
