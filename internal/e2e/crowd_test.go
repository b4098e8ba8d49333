//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// As many pods as a node has come at once, are all Ready, and go at once.
func TestCrowd(t *testing.T) {
	skipUnlessLong(t)
	const pods, within = 110, 3 * time.Minute
	runOnFamilies(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		s := newScene(t, c, a)
		from := real.Now()
		for i := range pods {
			s.writePod(fmt.Sprintf("pod-%d", i), `
terminationGracePeriodSeconds: 10
containers:
- {name: web, image: IMAGE, command: STAY}
`)
		}
		s.waitFor("all are Ready", within, func() bool {
			ready := 0
			for _, p := range s.board.listPods() {
				if isReady(p) {
					ready++
				}
			}
			return ready == pods
		})
		t.Logf("%d pods Ready after %s", pods, real.Now().Sub(from).Round(100*time.Millisecond))
		addresses := map[string]bool{}
		for _, p := range s.board.listPods() {
			addresses[p.Status.PodIP] = true
			assert.Zero(t, statusOf(p, "web").RestartCount)
		}
		assert.Len(t, addresses, pods)
		assert.Len(t, s.everySandbox(), pods)

		from = real.Now()
		for i := range pods {
			a.Remove(fmt.Sprintf("pod-%d.yaml", i))
		}
		s.waitFor("all are gone", within, func() bool {
			known := s.board.listPods()
			return known != nil && len(known) == 0 && len(s.everySandbox()) == 0
		})
		t.Logf("%d pods gone after %s", pods, real.Now().Sub(from).Round(100*time.Millisecond))
	})
}

// everySandbox returns the ready sandboxes of all pods.
func (s *scene) everySandbox() []*cri.PodSandbox {
	s.Helper()
	ctx, cancel := s.callContext()
	defer cancel()
	list, err := s.cri.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{
		State: &cri.PodSandboxStateValue{State: cri.PodSandboxState_SANDBOX_READY},
	}})
	require.NoError(s, err)
	return list.Items
}

// A manifest is rewritten again and again, faster than the pods of it end: each
// time it is another pod, with another UID. The last one wins, and nothing is
// left of the others.
func TestRewrites(t *testing.T) {
	skipUnlessLong(t)
	times, over := 100, 10*time.Second
	if *full {
		times, over = 300, 30*time.Second
	}
	runOnFamilies(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		s := newScene(t, c, a)
		s.rewriteManifest("anew", times, over)
		s.rewriteManifest("kept", times, over, "uid: a-pod-that-is-kept")
	})
}

func (s *scene) rewriteManifest(name string, times int, over time.Duration, meta ...string) {
	s.Helper()
	// The grace is for those that were told before they listened.
	const slow = `
terminationGracePeriodSeconds: 5
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'trap "sleep 0.7; exit 0" TERM; echo VERSION; while true; do sleep 0.1; done']
`
	s.writePod(name, slow, append(meta, "VERSION=first")...)
	s.awaitReady(name)
	for i := range times {
		s.writePod(name, slow, append(meta, fmt.Sprintf("VERSION=%d", i))...)
		require.NoError(s, real.Sleep(s.Context(), over/time.Duration(times))) // the pace that is asked for
	}
	s.writePod(name, slow, append(meta, "VERSION=last")...)
	from := real.Now()
	s.awaitPod(name, "Ready as it was written last", func(p *v1.Pod) bool {
		return isReady(p) && strings.Contains(p.Spec.Containers[0].Command[2], "echo last")
	})
	s.waitFor("one sandbox is ready, and one container runs", soon, func() bool {
		return len(s.readySandboxes(name)) == 1 && len(s.runningContainers(name)) == 1 && s.readLog(name, "web") == "last\n"
	})
	won := real.Now()
	s.removePod(name)
	s.Logf("%s: the last has won after %s, and was gone after %s", name, won.Sub(from).Round(time.Millisecond), real.Now().Sub(won).Round(time.Millisecond))
}
