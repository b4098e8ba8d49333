package nodestatus_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// TestStart_KB21: the command gives the Ready condition that the server has at first. Each line is a measurement at a
// time after the start of the agent: the network of the runtime is up or down, or the runtime has not answered yet. The
// output is the Ready condition that the server gets then.
func TestStart_KB21(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			start, server := nodestatus.Start{Begun: epoch}, v1.NodeStatus{}
			if d.Cmd != "new" {
				server.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionStatus(d.Cmd)}}
			}
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				after, measured, _ := strings.Cut(strings.TrimSpace(line), " ")
				passed, err := time.ParseDuration(after)
				require.NoError(t, err)
				now := epoch.Add(passed)
				facts := nodestatus.Facts{Now: now, RuntimeSeen: now, Runtime: runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: measured == "up"}}
				if measured == "unseen" {
					facts.RuntimeSeen = time.Time{}
				}
				start = start.Update(facts)
				facts.Starting = !start.Ended
				server = nodestatus.Status(&server, facts)
				fmt.Fprintln(&out, after, server.Conditions[len(server.Conditions)-1].Status)
			}
			return out.String()
		})
	})
}
