package runtimetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime"
)

// Harness is the runtime under test, with the commands and times that the cases use.
//
// The default commands are shell scripts. A runtime without sh, such as one for modules, sets Forever,
// IgnoreTerm, Exit, Print, CheckEnv, CheckWorkingDir, ExitOnSignal and Descendant. One guest program can
// do all of it:
//
//	run              run until a stop, and exit with 143
//	ignore           run until it is killed
//	exit AFTER CODE  exit with a code after a time
//	print CODE WORD… print each word on a line, on stdout and stderr in turn, a second apart, and exit
//	env NAME VALUE   exit with 0 if the variable has the value, else with 1
//	dir PATH         exit with 0 if that is the working directory, else with 1
//	signal NAME      exit with 143 on that signal, and ignore the stop
//	descendant       as run, with a child that ignores the stop; CountHeartbeats counts its beats
//
// Only a LogReader, Execer or ExecStreamer needs print. A runtime that refuses a StopSignal with
// ErrUnsupported passes stop/signal without signal. stop/descendants is skipped without child
// processes: leave CountHeartbeats nil if the runtime is no LogReader, or else use Skip.
type Harness struct {
	// Runtime is the implementation. Required.
	Runtime runtime.Runtime
	// Clock is the clock on which the cases wait. Nil is the real clock, which is virtual in a
	// synctest bubble.
	Clock clock.Clock
	// Image is an image that can be pulled and that can run the commands. Required.
	Image string
	// MissingImage is an image that cannot be pulled. Required.
	MissingImage string
	// NoImages is true for a runtime without images: every name is present, as the comment of
	// runtime.Images requires. The cases about images are skipped, except image/none. Image and
	// MissingImage may be empty.
	NoImages bool

	// Forever is a command that runs until it is stopped, and exits with 143 on TERM. Nil is a
	// shell script.
	Forever []string
	// IgnoreTerm is a command that runs until it is killed, and ignores TERM. Nil is a shell
	// script.
	IgnoreTerm []string
	// Ready reports whether a container with Forever or IgnoreTerm has set its traps, so that it
	// handles TERM. After the start it is called every 50 ms until it returns true. An error, or
	// WaitTimeout without true, fails the case. Nil: the shell scripts print a line "ready" and
	// create the file /tmp/ready. The cases read the log if the runtime is a LogReader, or else
	// check the file if it is an Execer. If neither works, or if Forever and IgnoreTerm are your
	// commands, the cases wait for HeadStart.
	Ready func(ctx context.Context, containerID string) (bool, error)
	// HeadStart is how long a case waits for a container to set its traps if nothing confirms them.
	// If the container then exits as one without traps does, the case runs again with twice the
	// time, up to WaitTimeout. A slow start therefore fails no case. Zero is 1 s.
	HeadStart time.Duration
	// Exit returns a command that exits with a code after a time. Nil is a shell script.
	Exit func(after time.Duration, code int) []string
	// Print returns a command that prints lines of one word each, alternating between stdout and
	// stderr, a second apart, and exits with a code. Cases run it as a container and with Exec. Nil
	// is a shell script.
	Print func(lines []string, code int) []string
	// CheckEnv returns a command that exits with 0 if its environment has the variable with the
	// value, and with another code otherwise. Nil is a shell script.
	CheckEnv func(name, value string) []string
	// CheckWorkingDir returns a command that exits with 0 if dir is its working directory, and with
	// another code otherwise. Nil is a shell script.
	CheckWorkingDir func(dir string) []string
	// ExitOnSignal returns a command that exits with 143 on a signal, such as SIGUSR1, and ignores
	// TERM. Ready must work for it. Nil is a shell script.
	ExitOnSignal func(signal string) []string
	// Descendant is a command like Forever that starts a child process. The child ignores TERM and
	// shows every second that it is alive, as CountHeartbeats counts. Nil is a shell script whose
	// child prints lines "beat".
	Descendant []string
	// CountHeartbeats returns how often the child process of Descendant has shown that it is alive.
	// An error fails the case. Nil counts the lines "beat" of the log. If the runtime is then no
	// LogReader, the case is skipped.
	CountHeartbeats func(ctx context.Context, containerID string) (int, error)
	// StdoutFirst is true if Exec returns all of stdout before all of stderr.
	StdoutFirst bool
	// LogDir is a directory for the logs of containers, for runtimes that need one. The cases of a
	// LogReopener read its files there. Empty requests no log files.
	LogDir string
	// HandlerAnnotations are annotations of the request for a container "main". With them the
	// HandlerRunner fails liveness, does not return for readiness, and succeeds for startup. Nil
	// skips the cases that need them.
	HandlerAnnotations map[string]string
	// Reopen closes the client that the cases have used so far, as a crash of the agent does. It
	// calls meanwhile while there is no client, and then returns a new client of the same runtime.
	// It is called on the goroutine of the case, at most once per case, while no call is in
	// progress. The new client must have the optional roles of the former one. Nil skips the cases
	// that need it.
	Reopen func(meanwhile func()) (runtime.Runtime, error)

	// WaitTimeout is how long a case waits for a required change. Zero is 30 s.
	WaitTimeout time.Duration
	// CallTimeout is how long one call may take, in addition to its grace period, before it counts
	// as blocked. The case then fails with the method, the request and the time of the call, and
	// does not wait for it. PullImage may take ten times as long. A call with Follow, or Events,
	// may also last until its context ends. Zero is WaitTimeout.
	CallTimeout time.Duration
	// Slack is how much longer than its grace period a stop may take. Zero is 10 s.
	Slack time.Duration
	// Skip maps cases that this machine or runtime cannot pass to the reason. An unknown name fails
	// every case.
	Skip map[string]string

	// true if the command is the shell script of this package
	scriptedForever, scriptedIgnoreTerm, scriptedExitOnSignal bool
}

// setDefaults sets the defaults of unset fields.
func (h *Harness) setDefaults() {
	if h.Clock == nil {
		h.Clock = clock.RealClock{}
	}
	if h.NoImages {
		h.Image = cmp.Or(h.Image, "runtimetest")
	}
	h.setDefaultCommands()
	h.HeadStart = cmp.Or(h.HeadStart, time.Second)
	h.WaitTimeout = cmp.Or(h.WaitTimeout, 30*time.Second)
	h.CallTimeout = cmp.Or(h.CallTimeout, h.WaitTimeout)
	h.Slack = cmp.Or(h.Slack, 10*time.Second)
}

// reportReadyScript reports that the traps are set: with a log line, and with a file if /tmp
// exists.
const reportReadyScript = "echo " + readyLine + "; (: >" + readyFile + ") 2>/dev/null; "

// setDefaultCommands sets each unset command to a shell script, and records which of them report that their
// signal traps are set.
func (h *Harness) setDefaultCommands() {
	if h.Forever == nil {
		h.Forever = []string{"sh", "-c", "trap 'exit 143' TERM; " + reportReadyScript + "while true; do sleep 1; done"}
		h.scriptedForever = true
	}
	if h.IgnoreTerm == nil {
		h.IgnoreTerm = []string{"sh", "-c", "trap '' TERM; " + reportReadyScript + "while true; do sleep 1; done"}
		h.scriptedIgnoreTerm = true
	}
	if h.Exit == nil {
		h.Exit = func(after time.Duration, code int) []string {
			return []string{"sh", "-c", fmt.Sprintf("sleep %d; exit %d", int((after+time.Second-1)/time.Second), code)}
		}
	}
	h.setDefaultChecks()
	if h.Print == nil {
		h.Print = func(lines []string, code int) []string {
			return []string{"sh", "-c", fmt.Sprintf("%sexit %d", printScript(lines), code)}
		}
	}
}

// setDefaultChecks sets the unset commands CheckEnv, CheckWorkingDir, ExitOnSignal and Descendant to shell
// scripts.
func (h *Harness) setDefaultChecks() {
	if h.CheckEnv == nil {
		h.CheckEnv = func(name, value string) []string {
			return []string{"sh", "-c", fmt.Sprintf(`[ "$%s" = "%s" ]`, name, value)}
		}
	}
	if h.CheckWorkingDir == nil {
		h.CheckWorkingDir = func(dir string) []string { return []string{"sh", "-c", "[ . -ef " + dir + " ]"} }
	}
	if h.ExitOnSignal == nil {
		h.ExitOnSignal = func(signal string) []string {
			return []string{"sh", "-c", "trap '' TERM; trap 'exit 143' " + strings.TrimPrefix(signal, "SIG") + "; " + reportReadyScript + "while true; do sleep 1; done"}
		}
		h.scriptedExitOnSignal = true
	}
	if h.Descendant == nil {
		h.Descendant = []string{"sh", "-c", "trap 'exit 143' TERM; (trap '' TERM; while true; do echo " + heartbeatLine + "; sleep 1; done) & while true; do sleep 1; done"}
	}
}

// validate returns one error that names every invalid field of the harness, or nil.
func (h *Harness) validate() error {
	var errs []error
	if h.Runtime == nil {
		errs = append(errs, errors.New("runtimetest: Harness.Runtime is nil"))
	}
	if !h.NoImages && (h.Image == "" || h.MissingImage == "") {
		errs = append(errs, errors.New("runtimetest: Harness.Image and MissingImage are required; a runtime without images sets NoImages"))
	}
	known := map[string]bool{}
	for _, c := range Cases() {
		known[c.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(h.Skip)) {
		if !known[name] {
			errs = append(errs, fmt.Errorf("runtimetest: Harness.Skip names the unknown case %q", name))
		}
	}
	return errors.Join(errs...)
}

// skipReason returns why a case is skipped: Harness.Skip names it, it needs images and the runtime has none, or
// it is for runtimes without images. It returns an empty string if the case must run.
func (h *Harness) skipReason(name string) string {
	group, _, _ := strings.Cut(name, "/")
	switch {
	case h.Skip[name] != "":
		return h.Skip[name]
	case name == caseNoImages && !h.NoImages:
		return "the runtime has images"
	case name != caseNoImages && h.NoImages && (group == "image" || slices.Contains(casesWithImages, name)):
		return "the runtime has no images"
	}
	return ""
}

// casesWithImages are the cases outside the group image that need images.
var casesWithImages = []string{"disk/used", "container/no-image", "disk/pull"}
