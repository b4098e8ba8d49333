package allocation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// TestAsks runs testdata/asks.txt. Each block is a story of a table on a node with two cpus, whose
// chain has a rule about them and a handler; "story full" has pods wait when the node is full. A line
// is one of the inputs of TestWalk. Below it stand the effects, and the states of the pods that the
// table has: a terminating pod before the slash, and its successor after it.
func TestAsks(t *testing.T) {
	datadriven.RunTest(t, "testdata/asks.txt", func(t *testing.T, d *datadriven.TestData) string {
		w := newWalker(d.HasArg("full"))
		var b strings.Builder
		for line := range strings.Lines(d.Input) {
			w.effects = nil
			require.NoError(t, w.applyInput(strings.TrimSpace(line)))
			fmt.Fprintln(&b, strings.TrimSpace(line))
			for _, e := range w.effects {
				text := fmt.Sprintf("  %s %s", e.Kind, e.UID)
				switch {
				case e.Kind == Ask:
					text = fmt.Sprintf("  ask about %s, beside %d staying and %d terminating, trial %t", e.UID, e.Snapshot.Staying.Len(), e.Snapshot.Terminating.Len(), e.Snapshot.Trial)
				case e.Answer.Reason != "":
					text += ": " + e.Answer.Reason
				}
				if len(e.Blockers) > 0 {
					text += fmt.Sprint(", for ", e.Blockers)
				}
				fmt.Fprintln(&b, text)
			}
			var states []string
			for _, uid := range []types.UID{"a", "b", "c"} {
				switch newest, previous := w.table.State(uid); {
				case previous != Unknown:
					states = append(states, fmt.Sprintf("%s terminating/%s", uid, newest))
				case newest != Unknown:
					states = append(states, fmt.Sprintf("%s %s", uid, newest))
				}
			}
			if len(states) > 0 {
				fmt.Fprintln(&b, "  = "+strings.Join(states, ", "))
			}
		}
		return b.String()
	})
}
