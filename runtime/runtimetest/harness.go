package runtimetest

import (
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime"
)

// T is what a case needs of *testing.T. All methods are called from the
// goroutine that runs the case.
type T interface {
	// Helper marks the caller as a helper of tests.
	Helper()
	// Errorf says what is wrong. FailNow follows.
	Errorf(format string, args ...any)
	// FailNow marks the test as failed and ends its goroutine.
	FailNow()
	// Skipf says why the case is skipped and ends its goroutine.
	Skipf(format string, args ...any)
}

// Harness is the runtime under test and what the cases need to know of it.
type Harness struct {
	// Runtime is the implementation.
	Runtime runtime.Runtime
	// Clock is what the cases wait on. Nil is the real clock, which in a
	// synctest bubble is the bubble's.
	Clock clock.Clock
	// Image can be pulled and can run the commands. Required.
	Image string
	// MissingImage cannot be pulled. Required.
	MissingImage string

	// Forever runs until it is stopped and ends with 143 on TERM. Nil is a
	// shell script.
	Forever []string
	// Deaf runs until it is killed: it ignores TERM. Nil is a shell script.
	Deaf []string
	// Exit ends with a code after a while. Nil is a shell script.
	Exit func(after time.Duration, code int) []string
	// Print prints lines of one word each to both of its streams, a second
	// apart, and ends with a code. It is run as a container and in one. Nil is
	// a shell script.
	Print func(lines []string, code int) []string
	// StreamsApart says that Exec returns what went to stdout before what went
	// to stderr.
	StreamsApart bool
	// LogDir is a directory for the logs of containers, for runtimes that need
	// one. Empty asks for none.
	LogDir string
	// Answers are annotations of a request for a container "main" with which
	// an Answerer says no to liveness, nothing to readiness, and yes to
	// startup. Nil skips the cases that need them.
	Answers map[string]string

	// Patience is how long a case waits for what must happen. Zero is 30 s.
	Patience time.Duration
	// Slack is how much longer than its grace a stop may take. Zero is 10 s.
	Slack time.Duration
	// Skip names cases that this machine or runtime cannot be asked to pass,
	// with the reason.
	Skip map[string]string
}

func (h *Harness) complete() {
	if h.Clock == nil {
		h.Clock = clock.RealClock{}
	}
	if h.Forever == nil {
		h.Forever = []string{"sh", "-c", "trap 'exit 143' TERM; while true; do sleep 1; done"}
	}
	if h.Deaf == nil {
		h.Deaf = []string{"sh", "-c", "trap '' TERM; while true; do sleep 1; done"}
	}
	if h.Exit == nil {
		h.Exit = func(after time.Duration, code int) []string {
			return []string{"sh", "-c", fmt.Sprintf("sleep %d; exit %d", int((after+time.Second-1)/time.Second), code)}
		}
	}
	if h.Print == nil {
		h.Print = func(lines []string, code int) []string {
			return []string{"sh", "-c", fmt.Sprintf("%sexit %d", printing(lines), code)}
		}
	}
	if h.Patience == 0 {
		h.Patience = 30 * time.Second
	}
	if h.Slack == 0 {
		h.Slack = 10 * time.Second
	}
}
