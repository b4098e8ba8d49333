package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestStories runs testdata: each file is about a group of rules, and each story in it starts with
// an empty table. The history and CheckInvariants check every step.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "news" {
				return runtimeChange(t, d)
			}
			w := newHarness()
			var b strings.Builder
			for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
				answer, err := w.runLine(line)
				if err != nil {
					d.Fatalf(t, "%s: %v", line, err)
				}
				b.WriteString(line)
				if answer != "" && answer[0] != '\n' {
					b.WriteString(" -> ")
				}
				b.WriteString(answer + "\n")
			}
			return b.String()
		})
	})
}
