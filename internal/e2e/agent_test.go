//go:build linux

package e2e_test

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// families runs a test on every family of containerd, each with an agent of its
// own.
func families(t *testing.T, test func(t *testing.T, c *e2e.Containerd, a *e2e.Agent), flags ...string) {
	dir, program := t.TempDir(), ""
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			c := e2e.Start(t, version)
			if program == "" {
				program = e2e.BuildAgent(t, dir)
			}
			test(t, c, e2e.StartAgent(t, c, program, flags...))
		})
	}
}

func isReady(p *v1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// A pod comes, is Ready with an address, and goes.
func TestAgent_Life(t *testing.T) {
	families(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		a.Write("web.yaml", fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {terminationGracePeriodSeconds: 2, containers: [
			{name: web, image: %q, command: [sleep, "1000"]}]}}`, c.Registry.Image()))
		a.AwaitPod("web", "ready with an address", 30*time.Second, func(p *v1.Pod) bool { return isReady(p) && p.Status.PodIP != "" })
		a.Remove("web.yaml")
		a.Await("no pods", 30*time.Second, func(pods map[string]*v1.Pod) bool { return len(pods) == 0 })
	})
}
