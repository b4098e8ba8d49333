//go:build linux

package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

const dies = `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: [sh, -c, 'trap "exit 0" TERM; while test ! -e /tmp/die; do sleep 0.05; done; exit 1']}
`

// With a stream of events a container that ends is started again though the
// runtime is never listed; the stream is followed again when containerd has come
// back (F65, F67). Without a stream the list carries (I40).
func TestEvents(t *testing.T) {
	skipUnlessLong(t)
	for version, relist := range map[e2e.Version]string{e2e.Containerd2: "1h", e2e.Containerd16: "1s"} {
		t.Run(string(version), func(t *testing.T) {
			c := e2e.Start(t, version)
			a := e2e.StartAgent(t, c, buildAgent(t), "--relist", relist, "--resync", "1h")
			s := newScene(t, c, a)
			s.writePod("one", dies)
			s.awaitReady("one")
			s.crashContainer("one")
			for pod, stop := range map[string]func(){"killed": c.Kill, "stopped": c.Stop} {
				stop()
				c.Restart()
				s.awaitPod("one", "still running", func(p *v1.Pod) bool { return isReady(p) && len(s.runningContainers("one")) == 1 })
				s.writePod(pod, dies)
				s.awaitReady(pod)
				s.crashContainer(pod)
				s.removePod(pod)
			}
			assert.Len(t, s.listSandboxes("one"), 1)
			p := s.board.listPods()["one"]
			assert.EqualValues(t, 1, statusOf(p, "web").RestartCount)
			s.removePod("one")
		})
	}
}

// crashContainer makes the container of a pod exit and waits until it runs again. The next relist is an hour away, so
// only an event can cause the restart in time.
func (s *scene) crashContainer(name string) {
	s.Helper()
	s.runExitScript(name, "web", "touch /tmp/die")
	p := s.awaitPod(name, "restarted", func(p *v1.Pod) bool { return isReady(p) && statusOf(p, "web").RestartCount == 1 })
	assert.EqualValues(s, 1, lastExit(p, "web").ExitCode)
}
