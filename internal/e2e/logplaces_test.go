//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/e2e"
)

// The logs of new pods are where log collectors look, with links. The logs of pods that ran before the agent
// had its logs there stay readable, and nothing restarts.
func TestLogPlaces(t *testing.T) {
	skipUnlessLong(t)
	const shared, links = "/var/log/pods", "/var/log/containers"
	runOnFamilies(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		s := newScene(t, c, a)
		talker := `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: [sh, -c, 'trap "exit 0" TERM; echo here; sleep 100000 & wait']}
`
		s.writePod("old", talker)
		before := s.awaitReady("old")
		id := s.runningContainer("old", "web").Id
		s.waitFor("the old pod has printed", soon, func() bool { return s.readLog("old", "web") == "here\n" })

		a.Stop()
		a.AddFlags("--log-dir", shared)
		a.Start()
		s.writePod("new", talker)
		fresh := s.awaitReady("new")
		assert.Equal(t, before.UID, s.awaitReady("old").UID)
		assert.Equal(t, id, s.runningContainer("old", "web").Id, "it was not restarted")
		assert.Equal(t, "here\n", s.readLog("old", "web"))
		s.waitFor("the new pod has printed", soon, func() bool { return s.readLog("new", "web") == "here\n" })
		path := filepath.Join(shared, "default_new-"+e2e.NodeName+"_"+string(fresh.UID), "web", "0.log")
		assert.Equal(t, path, s.runningContainer("new", "web").LogPath)
		link := filepath.Join(links, "new-"+e2e.NodeName+"_default_web-"+s.runningContainer("new", "web").Id+".log")
		target, err := os.Readlink(link)
		require.NoError(t, err)
		assert.Equal(t, path, target)

		s.runExitScript("old", "web", "kill 1") // Its next container is in the same sandbox.
		s.waitFor("the old pod has printed again", soon, func() bool {
			return len(s.runningContainers("old")) == 1 && s.runningContainers("old")[0].Id != id && s.readLog("old", "web") == "here\n"
		})
		assert.True(t, strings.HasPrefix(s.runningContainer("old", "web").LogPath, s.agent.State), s.runningContainer("old", "web").LogPath)
		s.removePod("old")
		s.removePod("new")
		s.waitFor("no logs are left", soon, func() bool {
			_, missing := os.Lstat(link)
			_, gone := os.Stat(filepath.Dir(filepath.Dir(path)))
			left, _ := os.ReadDir(filepath.Join(s.agent.State, "logs"))
			return os.IsNotExist(missing) && os.IsNotExist(gone) && len(left) == 0
		})
	})
}
