//go:build linux

package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/internal/e2e"
)

// prompt is how long a containerd that is there again may wait for what it is owed:
// the connection is made anew within a second, and each pod asked about within
// another. What is left of the backoff of ten seconds, of which 1.5 have gone by, leaves
// room for a busy machine.
const prompt = 8 * time.Second

// containerd is away while a pod ought to start and another one to stop. Neither
// waits for its backoff when it is there again.
func TestAgent_RuntimeAway(t *testing.T) {
	families(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		s := newScene(t, c, a)
		const spec = `
terminationGracePeriodSeconds: 1
containers:
- {name: web, image: IMAGE, command: STAY}
`
		s.pod("goes", spec)
		s.await("goes", "ready", isReady)
		c.Kill()
		a.Remove("goes.yaml")
		s.pod("comes", spec)
		_ = real.Sleep(t.Context(), 1500*time.Millisecond) // Until both have failed.
		c.Restart()
		back := real.Now()
		s.await("comes", "ready", isReady)
		assert.Less(t, real.Now().Sub(back), prompt)
		s.gone("goes")
		assert.Less(t, real.Now().Sub(back), prompt)
		s.remove("comes")
	})
}
