package nodeagent_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// TestAgent_Restored: the server's data are restored from a backup, so that the versions of the
// node go back under the same UID. The agent adopts the restored labels, sends its status again, and sees changes,
// however the watch has ended. After a regular end the next watch is silent, because it starts at a version that the
// restored data have not reached.
func TestAgent_Restored(t *testing.T) {
	for name, end := range map[string]error{"in order": io.EOF, "broken": errors.New("reset")} {
		t.Run(name, func(t *testing.T) {
			h := simulate(t)
			h.start()
			h.after(time.Minute)
			label := func(value string) {
				require.NoError(t, h.server.Admin().EditNode("n1", func(n *v1.Node) { n.Labels["l"] = value }))
			}
			known := func() string {
				h.after(time.Second)
				node, _ := h.agent.Node()
				return node.Labels["l"]
			}
			label("backup")
			restore := h.server.Backup()
			label("later")
			require.NoError(t, h.server.Admin().EditNode("n1", func(n *v1.Node) { n.Status.Conditions = nil }))
			h.after(time.Minute)
			for range 100 {
				require.NoError(t, h.server.Admin().EditNode("n1", func(n *v1.Node) { n.Labels["n"] += "n" }))
			}
			require.Equal(t, "later", known())

			if !errors.Is(end, io.EOF) {
				h.server.Crash()
			}
			restore()
			h.server.Recover()
			h.after(10 * time.Minute)
			assert.Equal(t, "backup", known())
			label("restored")
			assert.Equal(t, "restored", known())
			require.NoError(t, h.server.Admin().EditNode("n1", func(n *v1.Node) { n.Status.Conditions = nil }))
			h.after(20 * time.Second)
			assert.Equal(t, v1.ConditionTrue, h.ready())
		})
	}
}
