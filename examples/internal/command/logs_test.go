package command

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/node"
)

// TestLogs_Place: logs are in the directory that log collectors read, unless a flag gives another one. Logs that the
// node had elsewhere before remain its own.
func TestLogs_Place(t *testing.T) {
	for _, c := range []struct {
		flags []string // log-dir and log-links, "?" for a flag that is not given
		want  []string // root, links, records
	}{
		{[]string{"?", "?"}, []string{"/var/log/pods", "/var/log/containers", "/state/log-records"}},
		{[]string{"/var/log/pods/", "?"}, []string{"/var/log/pods", "/var/log/containers", "/state/log-records"}},
		{[]string{"?", ""}, []string{"/var/log/pods", "", "/state/log-records"}},
		{[]string{"?", "/links"}, []string{"/var/log/pods", "/links", "/state/log-records"}},
		{[]string{"/mine", "?"}, []string{"/mine", "", ""}},
		{[]string{"/mine", "/links"}, []string{"/mine", "/links", ""}},
	} {
		var l Logs
		if c.flags[0] != "?" {
			require.NoError(t, l.SetDir(c.flags[0]))
		}
		if c.flags[1] != "?" {
			require.NoError(t, l.SetLinks(c.flags[1]))
		}
		var n node.Config
		l.Configure(&n, "/state", "/state/logs", "/state/links")
		assert.Equal(t, c.want, []string{n.Logs.Root, n.Logs.Links, n.Logs.Records}, c.flags)
		assert.Equal(t, []string{"/state/logs", "/state/links"}, append(n.Logs.OldRoots, n.Logs.OldLinks...))
		l.Configure(&n, "/state", "/state/logs", "")
	}
	var l Logs
	assert.EqualError(t, l.SetDir("logs"), "expected an absolute path")
	assert.EqualError(t, l.SetLinks("links"), "expected an absolute path")
}
