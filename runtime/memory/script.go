package memory

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// AnnotationPrefix and a container's name make the annotation of a pod that
// holds that container's script.
const AnnotationPrefix = "memory.podkeel.dev/"

// ErrScript is a script that cannot be read. CreateContainer returns it,
// wrapped in a sentence that names the annotation, the word and what is
// allowed.
var ErrScript = errors.New("memory: bad script")

// Script says how the starts of one container go. The k-th start uses the
// k-th run, and the last run repeats. Starts are counted per pod UID and
// container name, across sandboxes, and also after the pod's records are gone
// until ten thousand other UIDs have come.
type Script struct{ Runs []Run }

// Run is how one start goes. The zero value ends at once with code 0.
type Run struct {
	// For is how long it runs, unless Forever.
	For time.Duration
	// Forever runs until it is stopped.
	Forever bool
	// Exit is the code with which it ends by itself.
	Exit int32
	// Graceful ends with Exit on TERM too, instead of with 143.
	Graceful bool
	// StartDelay is how long StartContainer takes.
	StartDelay time.Duration
	// IgnoreTerm lets only a kill end it early.
	IgnoreTerm bool
	// Fail is what goes wrong before it runs. A start that fails so is used up.
	Fail Fail
}

// Fail is a step on the way to a running container.
type Fail uint8

// The steps that can fail.
const (
	// FailNothing lets the container run.
	FailNothing Fail = iota
	// FailImage makes the image look missing: ImageStatus does not find it
	// for this container, PullImage cannot get it.
	FailImage
	// FailCreate makes CreateContainer fail; no record is left.
	FailCreate
	// FailStart makes StartContainer fail; the container has exited with 128.
	FailStart
)

// words is what a run may say; it ends every complaint about one that does not.
const words = "allowed are run=<duration>|forever, exit=<0..255>, start-delay=<duration>, ignore-term, fail=image|create|start"

// ParseScript reads the text of a script annotation: runs separated by
// semicolons, each of them words separated by spaces.
//
//	run=<duration>|forever   how long it runs; without it: not at all if there
//	                         is an exit=, else until it is stopped
//	exit=<code>              how it ends by itself, 0 without it; with
//	                         run=forever: how it ends on TERM, instead of 143
//	start-delay=<duration>   how long the start takes
//	ignore-term              only a kill ends it early
//	fail=image|create|start  what goes wrong before it runs
//
// An error is an ErrScript and names the run, the word and what is allowed.
func ParseScript(text string) (Script, error) {
	var s Script
	for i, part := range strings.Split(text, ";") {
		run, err := parseRun(strings.Fields(part))
		if err != nil {
			return Script{}, fmt.Errorf("%w: run %d: %w; %s", ErrScript, i+1, err, words)
		}
		s.Runs = append(s.Runs, run)
	}
	return s, nil
}

func parseRun(fields []string) (Run, error) {
	if len(fields) == 0 {
		return Run{}, errors.New("it is empty")
	}
	var run Run
	said := map[string]bool{}
	for _, field := range fields {
		key, value, hasValue := strings.Cut(field, "=")
		if said[key] {
			return Run{}, fmt.Errorf("%q: %s is said twice", field, key)
		}
		said[key] = true
		if err := run.parseWord(key, value, hasValue); err != nil {
			return Run{}, fmt.Errorf("%q: %w", field, err)
		}
	}
	if !said["run"] {
		run.Forever = !said["exit"]
	}
	run.Graceful = run.Forever && said["exit"]
	return run, nil
}

func (r *Run) parseWord(key, value string, hasValue bool) (err error) {
	switch {
	case key == "ignore-term" && !hasValue:
		r.IgnoreTerm = true
	case key == "run" && value == "forever":
		r.Forever = true
	case key == "run" && hasValue:
		r.For, err = parseDuration(value)
	case key == "start-delay" && hasValue:
		r.StartDelay, err = parseDuration(value)
	case key == "exit" && hasValue:
		r.Exit, err = parseExit(value)
	case key == "fail" && hasValue:
		r.Fail, err = parseFail(value)
	default:
		return errors.New("not a word of a script")
	}
	return err
}

func parseDuration(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return 0, errors.New("not a duration as 500ms, 30s or 1h30m")
	}
	return d, nil
}

func parseExit(value string) (int32, error) {
	code, err := strconv.ParseUint(value, 10, 8)
	if err != nil {
		return 0, errors.New("not an exit code from 0 to 255")
	}
	return int32(code), nil
}

func parseFail(value string) (Fail, error) {
	for f, name := range failNames {
		if name == value && Fail(f) != FailNothing {
			return Fail(f), nil
		}
	}
	return 0, errors.New("not a step that can fail")
}

var failNames = [...]string{FailNothing: "nothing", FailImage: "image", FailCreate: "create", FailStart: "start"}

// String is the word for it in a script.
func (f Fail) String() string {
	if int(f) < len(failNames) {
		return failNames[f]
	}
	return "Fail(" + strconv.Itoa(int(f)) + ")"
}

// String is the run in the words of a script.
func (r Run) String() string {
	var w []string
	if r.Forever {
		w = append(w, "run=forever")
	} else {
		w = append(w, "run="+r.For.String())
	}
	if !r.Forever || r.Graceful {
		w = append(w, fmt.Sprintf("exit=%d", r.Exit))
	}
	if r.StartDelay > 0 {
		w = append(w, "start-delay="+r.StartDelay.String())
	}
	if r.IgnoreTerm {
		w = append(w, "ignore-term")
	}
	if r.Fail != FailNothing {
		w = append(w, "fail="+r.Fail.String())
	}
	return strings.Join(w, " ")
}

// String is the script as ParseScript reads it.
func (s Script) String() string {
	runs := make([]string, len(s.Runs))
	for i, r := range s.Runs {
		runs[i] = r.String()
	}
	return strings.Join(runs, "; ")
}

// run is how the start goes that starts were made before. A script without
// runs runs until it is stopped.
func (s Script) run(starts int) Run {
	if len(s.Runs) == 0 {
		return Run{Forever: true}
	}
	return s.Runs[min(starts, len(s.Runs)-1)]
}
