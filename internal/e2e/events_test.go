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
	long(t)
	for version, relist := range map[e2e.Version]string{e2e.Containerd2: "1h", e2e.Containerd16: "1s"} {
		t.Run(string(version), func(t *testing.T) {
			c := e2e.Start(t, version)
			a := e2e.StartAgent(t, c, buildAgent(t), "--relist", relist, "--resync", "1h")
			s := newScene(t, c, a)
			s.pod("one", dies)
			s.ready("one")
			s.dies("one")
			for pod, stop := range map[string]func(){"killed": c.Kill, "stopped": c.Stop} {
				stop()
				c.Restart()
				s.await("one", "still running", func(p *v1.Pod) bool { return isReady(p) && len(s.alive("one")) == 1 })
				s.pod(pod, dies)
				s.ready(pod)
				s.dies(pod)
				s.remove(pod)
			}
			assert.Len(t, s.sandboxes("one"), 1)
			p := s.board.look()["one"]
			assert.EqualValues(t, 1, statusOf(p, "web").RestartCount)
			s.remove("one")
		})
	}
}

// dies ends the container of a pod and waits until it runs again, which is much less long than
// the hour until the runtime is listed again.
func (s *scene) dies(name string) {
	s.Helper()
	s.fell(name, "web", "touch /tmp/die")
	p := s.await(name, "restarted", func(p *v1.Pod) bool { return isReady(p) && statusOf(p, "web").RestartCount == 1 })
	assert.EqualValues(s, 1, lastExit(p, "web").ExitCode)
}
