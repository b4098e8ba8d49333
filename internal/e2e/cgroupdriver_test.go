//go:build linux

package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/internal/e2e"
)

// Two agents share a containerd whose driver is cgroupfs. containerd before 2.0 does not report its driver, so
// --cgroup-driver decides whether pods get cgroups. containerd 2 reports cgroupfs, which overrides the flag.
func TestCgroupDriver(t *testing.T) {
	skipUnlessLong(t)
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			c := e2e.Start(t, version)
			first := e2e.StartAgent(t, c, buildAgent(t), "--cgroup-driver", "cgroupfs")
			second := first.Beside(t, c, "--cgroup-driver", "systemd")
			limitFile := func(a *e2e.Agent, name string) string {
				s := newScene(t, c, a)
				s.writePod(name, `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: STAY, resources: {limits: {cpu: 100m, memory: 32Mi}}}
`)
				s.awaitReady(name)
				return s.cgroupFile(s.runningContainer(name, "web").Id, "memory", "memory.limit_in_bytes", "memory.max")
			}
			assert.Contains(t, limitFile(first, "cgroupfs"), "/podkeel-")
			if file := limitFile(second, "systemd"); version == e2e.Containerd2 {
				assert.Contains(t, file, "/podkeel-")
			} else {
				assert.NotContains(t, file, "/podkeel-")
			}
		})
	}
}
