package feed_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// CF-26: the server's data are restored from a backup, so that versions go back. The node has
// what the server has, and sees what changes there, though the versions are lower than those that
// it knows: within seconds after an outage, and within minutes where it has not noticed any.
func TestPods_CF26_Restored(t *testing.T) {
	for name, c := range map[string]struct {
		outage bool
		within time.Duration
	}{"after an outage": {true, 5 * time.Second}, "unnoticed": {false, 20 * time.Minute}} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, 1)
			n.create("kept")
			n.create("removed")
			stop := n.run()
			n.at(time.Second)
			restore := n.server.Backup()
			edit := func(value string) {
				require.NoError(t, n.server.Admin().EditPod("default", "kept", func(p *v1.Pod) { p.Labels = map[string]string{"at": value} }))
			}
			for i := range 50 {
				edit(strings.Repeat("x", i))
			}
			require.NoError(t, n.server.Admin().DeletePod("default", "removed", 0))
			n.create("later")
			n.at(time.Minute)
			require.Equal(t, "kept@56 later@59", show(n.last))
			if c.outage {
				n.server.Crash()
				n.at(time.Minute + 10*time.Second)
			}
			restore()
			n.server.Recover()
			n.contact.Report(nil)
			n.at(2 * time.Minute)
			edit("restored")
			n.at(2*time.Minute + c.within)
			require.Equal(t, "kept@7 removed@6", show(n.last))
			edit("again")
			n.at(2*time.Minute + c.within + time.Second)
			require.Equal(t, "kept@8 removed@6", show(n.last))
			stop()
		})
	}
}
