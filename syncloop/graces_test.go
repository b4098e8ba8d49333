package syncloop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestGraces runs testdata. Each block is a story, "story [grace=D]", a command a
// line:
//
//	heard SOURCE           it is complete
//	after D                time passes
//	pod [SOURCE]...        until when is a pod of these left alone?
func TestGraces(t *testing.T) {
	datadriven.RunTest(t, "testdata/graces.txt", func(t *testing.T, d *datadriven.TestData) string {
		grace := "30s"
		d.MaybeScanArgs(t, "grace", &grace)
		length, err := time.ParseDuration(grace)
		require.NoError(t, err)
		graces, began := newGraces(length), time.Unix(0, 0)
		now := began
		var b strings.Builder
		for line := range strings.Lines(d.Input) {
			words := strings.Fields(line)
			fmt.Fprintln(&b, strings.Join(words, " "))
			switch words[0] {
			case "heard":
				graces.startGraceOnce(words[1], now)
			case "after":
				length, err := time.ParseDuration(words[1])
				require.NoError(t, err)
				now = now.Add(length)
			case "pod":
				until, known := graces.latestGraceEnd(words[1:])
				switch {
				case !known:
					fmt.Fprintln(&b, "  nothing is concluded yet")
				case now.Before(until):
					fmt.Fprintln(&b, "  left alone until", until.Sub(began))
				default:
					fmt.Fprintln(&b, "  ended")
				}
			default:
				t.Fatalf("unknown command %q", words[0])
			}
		}
		return b.String()
	})
}
