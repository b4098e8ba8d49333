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
	long(t)
	const shared, links = "/var/log/pods", "/var/log/containers"
	families(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		s := newScene(t, c, a)
		talker := `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: [sh, -c, 'trap "exit 0" TERM; echo here; sleep 100000 & wait']}
`
		s.pod("old", talker)
		before := s.ready("old")
		id := s.running("old", "web").Id
		s.wait("the old pod has printed", soon, func() bool { return s.log("old", "web") == "here\n" })

		a.Stop()
		a.AddFlags("--log-dir", shared)
		a.Start()
		s.pod("new", talker)
		fresh := s.ready("new")
		assert.Equal(t, before.UID, s.ready("old").UID)
		assert.Equal(t, id, s.running("old", "web").Id, "it was not restarted")
		assert.Equal(t, "here\n", s.log("old", "web"))
		s.wait("the new pod has printed", soon, func() bool { return s.log("new", "web") == "here\n" })
		path := filepath.Join(shared, "default_new-"+e2e.NodeName+"_"+string(fresh.UID), "web", "0.log")
		assert.Equal(t, path, s.running("new", "web").LogPath)
		link := filepath.Join(links, "new-"+e2e.NodeName+"_default_web-"+s.running("new", "web").Id+".log")
		target, err := os.Readlink(link)
		require.NoError(t, err)
		assert.Equal(t, path, target)

		s.fell("old", "web", "kill 1") // Its next container is in the same sandbox.
		s.wait("the old pod has printed again", soon, func() bool {
			return len(s.alive("old")) == 1 && s.alive("old")[0].Id != id && s.log("old", "web") == "here\n"
		})
		assert.True(t, strings.HasPrefix(s.running("old", "web").LogPath, s.agent.State), s.running("old", "web").LogPath)
		s.remove("old")
		s.remove("new")
		s.wait("no logs are left", soon, func() bool {
			_, missing := os.Lstat(link)
			_, gone := os.Stat(filepath.Dir(filepath.Dir(path)))
			left, _ := os.ReadDir(filepath.Join(s.agent.State, "logs"))
			return os.IsNotExist(missing) && os.IsNotExist(gone) && len(left) == 0
		})
	})
}
