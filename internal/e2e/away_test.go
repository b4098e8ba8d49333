//go:build linux

package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/internal/e2e"
)

// prompt is the longest time that a containerd may wait for pending calls after it is reachable again. The agent
// reconnects within one second and lists the sandboxes of each pod within another. A pod that waited for the rest of
// its backoff of ten seconds would exceed it: only 1.5 seconds of the backoff have passed.
const prompt = 8 * time.Second

// containerd is away while a pod ought to start and another one to stop. Neither
// waits for its backoff when it is there again. A machine that does much else may take as
// long once, but not three times in a row.
func TestAgent_RuntimeAway(t *testing.T) {
	t.Parallel()
	runOnFamilies(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		s := newScene(t, c, a)
		var took []time.Duration
		for len(took) < 3 && (len(took) == 0 || took[len(took)-1] >= prompt) {
			took = append(took, s.measureAway())
		}
		assert.Less(t, took[len(took)-1], prompt, "%v", took)
	})
}

// measureAway stops containerd for a while. It returns the time from the start of containerd until all overdue changes
// are done.
func (s *scene) measureAway() time.Duration {
	s.Helper()
	const spec = `
terminationGracePeriodSeconds: 1
containers:
- {name: web, image: IMAGE, command: STAY}
`
	s.writePod("goes", spec)
	s.awaitReady("goes")
	s.c.Kill()
	s.agent.Remove("goes.yaml")
	s.writePod("comes", spec)
	_ = real.Sleep(s.Context(), 1500*time.Millisecond) // Until both have failed.
	s.c.Restart()
	back := real.Now()
	s.awaitReady("comes")
	s.waitUntilGone("goes")
	took := real.Now().Sub(back)
	s.removePod("comes")
	return took
}
