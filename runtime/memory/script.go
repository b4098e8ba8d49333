package memory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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
	// Print is what it writes to its log. Where nothing is said, one line at
	// the start says how it runs.
	Print []Line
	// Reason and Message are what its record says once it has ended with Exit.
	// Without a reason that is Completed or Error.
	Reason  string
	Message string
	// Usage is what it uses while it runs.
	Usage Usage
}

// Line is a line of a container's log, or several.
type Line struct {
	After time.Duration // since it started
	Text  string
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

// nonDefaultWords is what a run may say; it ends every complaint about one that does not.
const scriptSyntax = "allowed are run=<duration>|forever, exit=<0..255>, start-delay=<duration>, ignore-term, fail=image|create|start, print=<text>, print@<duration>=<text>, reason=<word>, message=<text>, cpu|memory|disk|receive|transmit=<quantity>"

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
//	print=<text>             a line of its log, at the start; any number of them
//	print@<duration>=<text>  the same, that long after the start
//	reason=<word>            what its record says once it has ended with its own
//	                         code, instead of Completed or Error
//	message=<text>           its termination message, likewise
//	cpu=<quantity>           the processors that it uses, such as 250m; 10m without it
//	memory=<quantity>        its working set, such as 64Mi; 16Mi without it
//	disk=<quantity>          the size of its writable layer
//	receive=<quantity>       bytes that it receives each second
//	transmit=<quantity>      bytes that it sends each second
//
// A text is one word, or several in double quotes, with the escapes of Go.
//
// An error is an ErrScript and names the run, the word and what is allowed.
func ParseScript(text string) (Script, error) {
	parts, err := splitScript(text)
	if err != nil {
		return Script{}, fmt.Errorf("%w: %w; %s", ErrScript, err, scriptSyntax)
	}
	var s Script
	for i, part := range parts {
		run, err := parseRun(part)
		if err != nil {
			return Script{}, fmt.Errorf("%w: run %d: %w; %s", ErrScript, i+1, err, scriptSyntax)
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
		if said[key] && !isPrintKey(key) {
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
	slices.SortStableFunc(run.Print, func(a, b Line) int { return cmp.Compare(a.After, b.After) })
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
	case isPrintKey(key) && hasValue:
		err = r.parsePrint(key, value)
	case key == "reason" && hasValue:
		r.Reason, err = parseReason(value)
	case key == "message" && hasValue:
		r.Message, err = parseText(value)
	case hasValue:
		err = r.Usage.setQuantity(key, value)
	default:
		err = errUnknownWord
	}
	return err
}

// errUnknownWord is a word that no script has.
var errUnknownWord = errors.New("not a word of a script")

// isPrintKey reports whether a word says something of the log.
func isPrintKey(key string) bool { return key == "print" || strings.HasPrefix(key, "print@") }

func (r *Run) parsePrint(key, value string) (err error) {
	var line Line
	if _, after, ok := strings.Cut(key, "@"); ok {
		if line.After, err = parseDuration(after); err != nil {
			return err
		}
	}
	line.Text, err = parseText(value)
	r.Print = append(r.Print, line)
	return err
}

func parseReason(value string) (string, error) {
	for i, c := range value {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if digit := c >= '0' && c <= '9'; !letter && (i == 0 || !digit) {
			value = ""
			break
		}
	}
	if value == "" {
		return "", errors.New("not a reason: one word of letters and digits as OOMKilled")
	}
	return value, nil
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
	for _, line := range r.Print {
		w = append(w, line.String())
	}
	if r.Reason != "" {
		w = append(w, "reason="+r.Reason)
	}
	if r.Message != "" {
		w = append(w, "message="+strconv.Quote(r.Message))
	}
	w = append(w, r.Usage.nonDefaultWords()...)
	return strings.Join(w, " ")
}

// String is the line as a word of a script.
func (l Line) String() string {
	if l.After > 0 {
		return fmt.Sprintf("print@%s=%q", l.After, l.Text)
	}
	return fmt.Sprintf("print=%q", l.Text)
}

// String is the script as ParseScript reads it.
func (s Script) String() string {
	runs := make([]string, len(s.Runs))
	for i, r := range s.Runs {
		runs[i] = r.String()
	}
	return strings.Join(runs, "; ")
}

// runForStart is how the start goes that starts were made before. A script without
// runs runs until it is stopped.
func (s Script) runForStart(previousStarts int) Run {
	if len(s.Runs) == 0 {
		return Run{Forever: true}
	}
	return s.Runs[min(previousStarts, len(s.Runs)-1)]
}
