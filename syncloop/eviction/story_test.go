package eviction_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestStories runs testdata. Each story begins with a new node, a command a line. harness_test.go has the commands.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			n := newNode()
			var b strings.Builder
			for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
				answer, err := n.do(line)
				if err != nil {
					answer = "error: " + err.Error()
				}
				b.WriteString(line)
				if answer != "" && answer[0] != '\n' {
					b.WriteString(" -> ")
				}
				b.WriteString(answer + "\n")
			}
			return b.String()
		})
	}
}
