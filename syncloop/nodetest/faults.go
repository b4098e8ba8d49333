package nodetest

import (
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
)

// faults are the errors that a harness has found. The harness finds them in coroutines and goroutines
// of the node, where a failure would name a line of the harness. So the next return to the test reports
// them, at the line of the test.
type faults struct {
	mu struct {
		sync.Mutex
		list []string
	}
}

// formatAndStoreFault formats a fault and stores it until reportAndClear fails the test with it.
func (f *faults) formatAndStoreFault(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.list = append(f.mu.list, fmt.Sprintf("nodetest: "+format, args...))
}

// takeAllAndClear returns all stored faults and deletes them.
func (f *faults) takeAllAndClear() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.mu.list
	f.mu.list = nil
	return list
}

// reportAndClear marks the test as failed with each stored fault, and deletes the faults. The test continues.
func (f *faults) reportAndClear(t testing.TB) {
	t.Helper()
	for _, fault := range f.takeAllAndClear() {
		t.Errorf("%s", fault)
	}
}

// findTestLine returns the innermost line of a _test.go file in the stack of the calling goroutine, as " at
// web_test.go:12". It returns "" if there is none.
func findTestLine() string {
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
