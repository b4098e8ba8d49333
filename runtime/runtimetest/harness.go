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

// Harness is the runtime under test and what the cases need to know of it.
type Harness struct {
	// Runtime is the implementation. Required.
	Runtime runtime.Runtime
	// Clock is what the cases wait on. Nil is the real clock, which in a
	// synctest bubble is the bubble's.
	Clock clock.Clock
	// Image can be pulled and can run the commands. Required.
	Image string
	// MissingImage cannot be pulled. Required.
	MissingImage string
	// NoImages says that the runtime has no images: it takes every name, as the
	// comment of runtime.Images says. The cases about images are skipped then,
	// except image/none, and Image and MissingImage may be empty.
	NoImages bool

	// Forever runs until it is stopped and ends with 143 on TERM. Nil is a
	// shell script.
	Forever []string
	// IgnoreTerm runs until it is killed: it ignores TERM. Nil is a shell script.
	IgnoreTerm []string
	// Ready reports whether a container that runs Forever or IgnoreTerm has set its
	// traps, so that TERM finds them. It is called every 50 ms after the start
	// until it returns true; its error fails the case, and so does WaitTimeout
	// without true. Nil: the shell scripts print a line "ready" and make the
	// file /tmp/ready, and the cases look for the line if the runtime is a
	// LogReader, else for the file if it is an Execer. Where neither works, or
	// Forever and IgnoreTerm are commands of yours, the cases wait for HeadStart.
	Ready func(ctx context.Context, containerID string) (bool, error)
	// HeadStart is how long a container gets to set its traps where nothing
	// tells that it has. A container that ends as one without traps does is
	// started again with twice the time, up to WaitTimeout: a slow start fails no
	// case, it takes longer. Zero is 1 s.
	HeadStart time.Duration
	// Exit ends with a code after a while. Nil is a shell script.
	Exit func(after time.Duration, code int) []string
	// Print prints lines of one word each to both of its streams, a second
	// apart, and ends with a code. It is run as a container and in one. Nil is
	// a shell script.
	Print func(lines []string, code int) []string
	// HasEnv ends with 0 if its environment has a variable of that name and value, and
	// with another code otherwise. Nil is a shell script.
	HasEnv func(name, value string) []string
	// InDir ends with 0 if a directory is its working directory, and with another code
	// otherwise. Nil is a shell script.
	InDir func(dir string) []string
	// EndsBy runs until a signal comes, such as SIGUSR1, and ends with 143 then. It ignores
	// TERM. Ready tells when its traps are set. Nil is a shell script.
	EndsBy func(signal string) []string
	// Descendant runs as Forever does, and has started a process of its own that ignores
	// TERM and shows every second that it lives, as Beats counts. Nil is a shell script
	// whose second process prints lines "beat".
	Descendant []string
	// Beats returns how often the process that Descendant has started has shown that it
	// lives, in a container. Its error fails the case. Nil counts the lines "beat" of the
	// log; if the runtime is no LogReader, the case is skipped.
	Beats func(ctx context.Context, containerID string) (int, error)
	// StreamsApart says that Exec returns what went to stdout before what went
	// to stderr.
	StreamsApart bool
	// LogDir is a directory for the logs of containers, for runtimes that need
	// one. A LogReopener has its files read there. Empty asks for none.
	LogDir string
	// Answers are annotations of a request for a container "main" with which
	// a HandlerRunner says no to liveness, nothing to readiness, and yes to
	// startup. Nil skips the cases that need them.
	Answers map[string]string
	// Reopen ends the client that the cases have used so far, as the end of an
	// agent does, calls meanwhile while there is no client, and returns a new
	// client of the same machine. It is called by the goroutine that runs the
	// case, at most once per case, when no call is under way. The new client
	// has the optional roles of the former one. Nil skips the cases that
	// need it.
	Reopen func(meanwhile func()) (runtime.Runtime, error)

	// WaitTimeout is how long a case waits for what must happen. Zero is 30 s.
	WaitTimeout time.Duration
	// CallTimeout is how long one call may take beyond its grace before it
	// counts as blocked. The case fails then, with the method, the request and
	// the time of the call, and goes on without it. PullImage gets ten times as
	// long, and a call that follows something has until the end of its context
	// in addition. Zero is WaitTimeout.
	CallTimeout time.Duration
	// Slack is how much longer than its grace a stop may take. Zero is 10 s.
	Slack time.Duration
	// Skip names cases that this machine or runtime cannot be asked to pass,
	// with the reason. A name that no case has fails every case.
	Skip map[string]string

	// scripted: Forever, IgnoreTerm, or EndsBy is the suite's own script.
	scriptedForever, scriptedDeaf, scriptedEndsBy bool
}

// complete fills in what the harness leaves out.
func (h *Harness) complete() {
	if h.Clock == nil {
		h.Clock = clock.RealClock{}
	}
	if h.NoImages {
		h.Image = cmp.Or(h.Image, "runtimetest")
	}
	h.completeCommands()
	h.HeadStart = cmp.Or(h.HeadStart, time.Second)
	h.WaitTimeout = cmp.Or(h.WaitTimeout, 30*time.Second)
	h.CallTimeout = cmp.Or(h.CallTimeout, h.WaitTimeout)
	h.Slack = cmp.Or(h.Slack, 10*time.Second)
}

// sayReady tells the harness that the traps are set: by a line on the log, and
// by a file where there is a directory for it.
const sayReady = "echo " + readyLine + "; (: >" + readyFile + ") 2>/dev/null; "

func (h *Harness) completeCommands() {
	if h.Forever == nil {
		h.Forever = []string{"sh", "-c", "trap 'exit 143' TERM; " + sayReady + "while true; do sleep 1; done"}
		h.scriptedForever = true
	}
	if h.IgnoreTerm == nil {
		h.IgnoreTerm = []string{"sh", "-c", "trap '' TERM; " + sayReady + "while true; do sleep 1; done"}
		h.scriptedDeaf = true
	}
	if h.Exit == nil {
		h.Exit = func(after time.Duration, code int) []string {
			return []string{"sh", "-c", fmt.Sprintf("sleep %d; exit %d", int((after+time.Second-1)/time.Second), code)}
		}
	}
	h.completeProbes()
	if h.Print == nil {
		h.Print = func(lines []string, code int) []string {
			return []string{"sh", "-c", fmt.Sprintf("%sexit %d", printing(lines), code)}
		}
	}
}

// completeProbes fills in the commands that find out how they were started.
func (h *Harness) completeProbes() {
	if h.HasEnv == nil {
		h.HasEnv = func(name, value string) []string {
			return []string{"sh", "-c", fmt.Sprintf(`[ "$%s" = "%s" ]`, name, value)}
		}
	}
	if h.InDir == nil {
		h.InDir = func(dir string) []string { return []string{"sh", "-c", "[ . -ef " + dir + " ]"} }
	}
	if h.EndsBy == nil {
		h.EndsBy = func(signal string) []string {
			return []string{"sh", "-c", "trap '' TERM; trap 'exit 143' " + strings.TrimPrefix(signal, "SIG") + "; " + sayReady + "while true; do sleep 1; done"}
		}
		h.scriptedEndsBy = true
	}
	if h.Descendant == nil {
		h.Descendant = []string{"sh", "-c", "trap 'exit 143' TERM; (trap '' TERM; while true; do echo " + beatLine + "; sleep 1; done) & while true; do sleep 1; done"}
	}
}

// check returns everything that is wrong with the harness.
func (h *Harness) check() error {
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
			errs = append(errs, fmt.Errorf("runtimetest: Harness.Skip names %q, and no case has that name", name))
		}
	}
	return errors.Join(errs...)
}

// skips says why a case is skipped; empty is not.
func (h *Harness) skips(name string) string {
	group, _, _ := strings.Cut(name, "/")
	switch {
	case h.Skip[name] != "":
		return h.Skip[name]
	case name == caseNoImages && !h.NoImages:
		return "the runtime has images"
	case name != caseNoImages && h.NoImages && (group == "image" || slices.Contains(needImages, name)):
		return "the runtime has no images"
	}
	return ""
}

// needImages are the cases outside the group image that are about images.
var needImages = []string{"disk/used", "container/no-image", "disk/pull"}
