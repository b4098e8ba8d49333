package tourtest

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// maxLines is how many lines main.go of a program has at most.
const maxLines = 80

// Check runs the program of the current directory in a bubble on a fake clock. It fails the test if the output
// differs from the one in doc.go or in the README of the tour, or if main.go is too long.
func Check(t *testing.T, run func(clk clock.Clock, out io.Writer)) {
	t.Helper()
	if lines := strings.Count(readFile(t, "main.go"), "\n"); lines > maxLines {
		t.Errorf("main.go has %d lines, more than %d", lines, maxLines)
	}
	got := runInVirtualTime(t, run)
	if got != documentedOutput(readFile(t, "doc.go")) {
		t.Errorf("doc.go has another output. The program prints:\n%s", got)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	section := "```\n$ go run ./examples/tour/" + filepath.Base(dir) + "\n" + got + "```\n"
	if !strings.Contains(readFile(t, "../README.md"), section) {
		t.Errorf("README.md lacks these lines:\n%s", section)
	}
}

// readFile returns the text of a file.
func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documentedOutput returns the indented block after "It prints:" in a package comment, or "" if there is none.
func documentedOutput(doc string) (output string) {
	_, after, _ := strings.Cut(doc, "// It prints:\n//\n")
	for line := range strings.Lines(after) {
		text, indented := strings.CutPrefix(line, "//\t")
		if !indented {
			break
		}
		output += text
	}
	return output
}

// buffer is a bytes.Buffer for concurrent writers.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns everything that was written.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// runInVirtualTime returns the output of a program on a fake clock. Whenever all goroutines of the program wait,
// the clock advances by a tenth of a second.
func runInVirtualTime(t *testing.T, run func(clk clock.Clock, out io.Writer)) (output string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clk := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		var out buffer
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			run(clk, &out)
		}()
		for range 600 { // A minute of virtual time.
			synctest.Wait()
			select {
			case <-ended:
				output = out.String()
				return
			default:
				clk.Step(100 * time.Millisecond)
			}
		}
		t.Fatal("the program has not ended after a minute")
	})
	return output
}
