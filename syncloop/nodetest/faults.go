package nodetest

import (
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
)

// faults are what the parts of a harness have found wrong. They find it in coroutines and
// goroutines of the node, from where a test would be failed at a line of theirs. So the next method
// that the test calls, or the one that it is in, fails the test, at the line of the call.
type faults struct {
	mu struct {
		sync.Mutex
		list []string
	}
}

func (f *faults) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.list = append(f.mu.list, fmt.Sprintf("nodetest: "+format, args...))
}

func (f *faults) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.mu.list
	f.mu.list = nil
	return list
}

// report fails the test for each fault.
func (f *faults) report(t testing.TB) {
	t.Helper()
	for _, fault := range f.take() {
		t.Errorf("%s", fault)
	}
}

// testLine returns the line of the test that is being run, as " at web_test.go:12", from the stack
// of its goroutine: for failures that are found below a call of the node.
func testLine() string {
	var pcs [64]uintptr
	frames := goruntime.CallersFrames(pcs[:goruntime.Callers(1, pcs[:])])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.File, "_test.go") {
			return fmt.Sprintf(" at %s:%d", filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return ""
		}
	}
}
