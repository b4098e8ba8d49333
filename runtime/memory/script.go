package memory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// AnnotationPrefix followed by the name of a container is the annotation key of its script.
const AnnotationPrefix = "memory.podkeel.dev/"

// ErrScript is the error for a script or an answer that cannot be parsed. CreateContainer wraps it
// in a message that names the annotation, the word and the allowed words.
var ErrScript = errors.New("memory: bad script")

// Script defines how the starts of one container behave. Start k uses run k, and the last run
// repeats. Starts are counted per pod UID and container name, across sandboxes. The count survives
// the removal of the pod's records until ten thousand other UIDs have followed.
type Script struct{ Runs []Run }

// Run defines one start of a container. The zero value exits at once with code 0.
type Run struct {
	// For is how long the container runs, unless Forever.
	For time.Duration
	// Forever makes it run until it is stopped.
	Forever bool
	// Exit is its exit code if it exits by itself.
	Exit int32
	// Graceful makes it exit with Exit after TERM, instead of with 143.
	Graceful bool
	// StartDelay is how long StartContainer takes.
	StartDelay time.Duration
	// IgnoreTerm makes it ignore TERM. Only a kill stops it early.
	IgnoreTerm bool
	// Fail is the step that fails before the container runs. A failed start uses up its Run.
	Fail Fail
	// Print is the content of its log. If it is empty, the log has one line that describes the Run.
	Print []Line
	// Reason and Message are part of its status after it exits with Exit. An empty Reason means
	// Completed or Error.
	Reason  string
	Message string
	// Usage is the resource usage while it runs.
	Usage Usage
	// Memory lists later working sets, in place of the one in Usage, in the order of their times. A
	// container whose working set in this list is above its memory limit is killed: it exits with
	// code 137 and the reason OOMKilled.
	Memory []MemoryChange
}

// MemoryChange is a change of a container's working set.
type MemoryChange struct {
	After time.Duration // since the start of the container
	Bytes int64
}

// Line is one line of a container's log, or several separated by line breaks.
type Line struct {
	After time.Duration // since the start of the container
	Text  string
}

// Fail is a step before a container runs that a script can make fail.
type Fail uint8

// The steps that can fail.
const (
	// FailNothing makes no step fail.
	FailNothing Fail = iota
	// FailImage makes the image missing for this container: ImageStatus returns ErrNotFound and
	// PullImage fails.
	FailImage
	// FailCreate makes CreateContainer fail. It leaves no record.
	FailCreate
	// FailStart makes StartContainer fail. The container exits with code 128.
	FailStart
)

// scriptSyntax lists the allowed words. Every parse error of a script ends with it.
const scriptSyntax = "allowed are run=<duration>|forever, exit=<0..255>, start-delay=<duration>, ignore-term, fail=image|create|start, print=<text>, print@<duration>=<text>, reason=<word>, message=<text>, cpu|memory|disk|receive|transmit=<quantity>, memory@<duration>=<quantity>"

// ParseScript parses the text of a script annotation. Semicolons separate the runs. Each run is a
// list of words separated by spaces.
//
//	run=<duration>|forever   how long it runs; without it: zero if there
//	                         is an exit=, else until it is stopped
//	exit=<code>              its exit code, 0 without it; with
//	                         run=forever: its exit code after TERM, instead of 143
//	start-delay=<duration>   how long StartContainer takes
//	ignore-term              only a kill stops it early
//	fail=image|create|start  the step that fails before it runs
//	print=<text>             a line of its log, at the start; any number of them
//	print@<duration>=<text>  a line of its log, that long after the start
//	reason=<word>            the reason in its status if it exits by
//	                         itself, instead of Completed or Error
//	message=<text>           its termination message if it exits by itself
//	cpu=<quantity>           its CPU usage, such as 250m; 10m without it
//	memory=<quantity>        its working set, such as 64Mi; 16Mi without it; its
//	                         memory limit bounds it
//	memory@<duration>=<quantity>
//	                         its working set from that time after the start; any
//	                         number of them. Above its memory limit it is killed:
//	                         it exits with code 137 and the reason OOMKilled
//	disk=<quantity>          the size of its writable layer
//	receive=<quantity>       bytes that it receives each second
//	transmit=<quantity>      bytes that it sends each second
//
// A text is one word, or several in double quotes, with the escapes of Go.
//
// A parse error wraps ErrScript. It names the run, the word and the allowed words.
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

// parseRun parses the words of one start in a script. It returns an error if a word is unknown or invalid, or
// if a word other than print= is repeated. Without run= and exit= the container runs forever. With only exit=
// it exits at once. A container that runs forever and has exit= exits with that code on TERM.
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
	slices.SortStableFunc(run.Memory, func(a, b MemoryChange) int { return cmp.Compare(a.After, b.After) })
	return run, nil
}

// parseWord sets the field that key names in the Run. It returns an error for an unknown key and for a value
// that cannot be parsed.
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
	case strings.HasPrefix(key, memoryChangePrefix) && hasValue:
		err = r.parseMemoryChange(strings.TrimPrefix(key, memoryChangePrefix), value)
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

// errUnknownWord is the error for a word that no script has.
var errUnknownWord = errors.New("not a word of a script")

// isPrintKey reports whether a script key is print or begins with print@.
func isPrintKey(key string) bool { return key == "print" || strings.HasPrefix(key, "print@") }

// parsePrint appends the log line of a print=TEXT or print@DURATION=TEXT word to the Run. It returns an error
// if the duration or the text is invalid.
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

// memoryChangePrefix and a duration are the key of a later working set in a script.
const memoryChangePrefix = "memory@"

// parseMemoryChange appends the change of a memory@DURATION=QUANTITY word to the Run. It returns an error if the
// duration or the quantity is invalid.
func (r *Run) parseMemoryChange(after, value string) (err error) {
	var change MemoryChange
	if change.After, err = parseDuration(after); err != nil {
		return err
	}
	if change.Bytes, err = parseQuantity(value, 0); err != nil {
		return err
	}
	r.Memory = append(r.Memory, change)
	return nil
}

// parseReason returns value if it is one word of letters and digits that begins with a letter. It returns an
// error for any other value.
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

// String returns the word that ParseScript reads.
func (f Fail) String() string {
	if int(f) < len(failNames) {
		return failNames[f]
	}
	return "Fail(" + strconv.Itoa(int(f)) + ")"
}

// String returns the run in the syntax of ParseScript.
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
	w = append(w, r.Usage.wordsOfSetFields()...)
	for _, change := range r.Memory {
		w = append(w, change.String())
	}
	return strings.Join(w, " ")
}

// String returns the line as a print word.
func (l Line) String() string {
	if l.After > 0 {
		return fmt.Sprintf("print@%s=%q", l.After, l.Text)
	}
	return fmt.Sprintf("print=%q", l.Text)
}

// String returns the change as a memory@ word.
func (c MemoryChange) String() string {
	return fmt.Sprintf("%s%s=%s", memoryChangePrefix, c.After, resource.NewQuantity(c.Bytes, resource.BinarySI))
}

// String returns the script in the syntax of ParseScript.
func (s Script) String() string {
	runs := make([]string, len(s.Runs))
	for i, r := range s.Runs {
		runs[i] = r.String()
	}
	return strings.Join(runs, "; ")
}

// runForStart returns the Run for the next start after previousStarts. If the script has fewer Runs, the last
// one is repeated. A script without Runs gives one that runs forever.
func (s Script) runForStart(previousStarts int) Run {
	if len(s.Runs) == 0 {
		return Run{Forever: true}
	}
	return s.Runs[min(previousStarts, len(s.Runs)-1)]
}
