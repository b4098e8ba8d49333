package nodetest_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
)

// tb is a test that notes what becomes of it.
type tb struct {
	testing.TB
	said     string // last
	at       string // where: the file and the line that package testing would print
	want     string // where it is expected
	helpers  map[string]bool
	failed   bool
	logged   string
	cleanups []func()
}

func (*tb) Name() string                      { return "fake" }
func (f *tb) Cleanup(g func())                { f.cleanups = append(f.cleanups, g) }
func (f *tb) Failed() bool                    { return f.failed }
func (f *tb) FailNow()                        { f.failed = true; runtime.Goexit() }
func (f *tb) Error(args ...any)               { f.recordFailure(fmt.Sprint(args...)) }
func (f *tb) Errorf(format string, a ...any)  { f.recordFailure(fmt.Sprintf(format, a...)) }
func (f *tb) Fatal(args ...any)               { f.recordFailure(fmt.Sprint(args...)); f.FailNow() }
func (f *tb) Fatalf(format string, a ...any)  { f.recordFailure(fmt.Sprintf(format, a...)); f.FailNow() }
func (f *tb) Logf(format string, args ...any) { f.logged += fmt.Sprintf(format, args...) }

// Helper marks the function that calls it, as package testing does.
func (f *tb) Helper() {
	if f.helpers == nil {
		f.helpers = map[string]bool{}
	}
	f.helpers[callerFrames(2)[0].Function] = true
}

// recordFailure stores a failure with the place of the first caller that is no helper.
func (f *tb) recordFailure(said string) {
	f.failed, f.said, f.at = true, said, ""
	for _, frame := range callerFrames(3) {
		if !f.helpers[frame.Function] {
			f.at = fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
			return
		}
	}
}

func callerFrames(skip int) (frames []runtime.Frame) {
	var pcs [64]uintptr
	list := runtime.CallersFrames(pcs[:runtime.Callers(skip+1, pcs[:])])
	for {
		frame, more := list.Next()
		frames = append(frames, frame)
		if !more {
			return frames
		}
	}
}

// runStory runs a story as a test of its own and returns the outcome.
func runStory(story func(t *tb)) *tb {
	f := &tb{}
	done := make(chan struct{})
	go func() { // FailNow ends the goroutine.
		defer close(done)
		story(f)
	}()
	<-done
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
	return f
}
