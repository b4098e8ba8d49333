//go:build linux

package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// createWithScratch creates a pod through the API of the agent, because static pods are never evicted. Its emptyDir of
// 2 MiB gets a file of this many MiB.
func (a *apiClient) createWithScratch(name string, mebibytes int) {
	a.Helper()
	script := fmt.Sprintf("dd if=/dev/zero of=/scratch/file bs=1048576 count=%d; trap 'exit 0' TERM; sleep 100000 & wait", mebibytes)
	code, text := a.sendRequest(http.MethodPost, "/api/v1/namespaces/default/pods", "application/json", fmt.Sprintf(
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},"spec":{"terminationGracePeriodSeconds":2,
		"containers":[{"name":"web","image":%q,"command":["sh","-c",%q],"volumeMounts":[{"name":"scratch","mountPath":"/scratch"}]}],
		"volumes":[{"name":"scratch","emptyDir":{"sizeLimit":"2Mi"}}]}}`, name+"-"+e2e.NodeName, a.c.Registry.Image(), script))
	require.Equal(a, http.StatusCreated, code, text)
}

// evictedPods returns the names of the pods that are Failed with the reason Evicted, in order, or nil if the agent does
// not answer.
func (s *scene) evictedPods() (names []string) {
	for name, p := range s.board.listPods() {
		if p.Status.Phase == v1.PodFailed && p.Status.Reason == "Evicted" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// EV-27: a filled emptyDir evicts its pod and no other. If the agent is killed while it evicts pods, the next agent
// finishes the evictions. No other pod is lost or restarted. Evicted pods do not run again after another restart.
func TestEviction_EV27(t *testing.T) {
	skipUnlessLong(t)
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	runOnFamilies(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		s := newScene(t, c, a)
		t.Cleanup(func() { _ = os.Remove(kubeconfig) }) // The agent of the next family writes its own.
		client := newAPIClient(s, kubeconfig)
		others := []string{"other-0", "other-1", "other-2"}
		ids := map[string]string{}
		for _, name := range others {
			client.createWithScratch(name, 1)
			ids[name] = statusOf(s.awaitReady(name), "web").ContainerID
		}
		client.createWithScratch("full", 8)
		want := []string{"full"}
		s.waitFor("full is evicted", 3*soon, func() bool { return slices.Equal(s.evictedPods(), want) })
		assert.Equal(t, `Usage of EmptyDir volume "scratch" exceeds the limit "2Mi". `, s.board.listPods()["full"].Status.Message)
		s.waitFor("full has stopped", soon, func() bool { return s.isStopped("full") })

		for _, name := range []string{"killed-0", "killed-1", "killed-2"} {
			client.createWithScratch(name, 8)
			want = append(want, name)
		}
		s.waitFor("an eviction begins", 3*soon, func() bool {
			return slices.ContainsFunc(strings.Split(a.Tail(), "\n"), func(line string) bool {
				return strings.Contains(line, "a pod is evicted") && strings.Contains(line, "killed-")
			})
		})
		a.Kill()
		a.Start()
		s.waitFor("all full pods are evicted", 3*soon, func() bool { return slices.Equal(s.evictedPods(), want) })
		for _, name := range want {
			s.waitFor(name+" has stopped", soon, func() bool { return s.isStopped(name) })
		}
		a.Stop()
		a.Start()
		s.waitFor("the agent answers", soon, func() bool { return len(s.board.listPods()) == 7 })
		for _, name := range others {
			assert.Equal(t, ids[name], statusOf(s.awaitReady(name), "web").ContainerID, name)
		}
		assert.Equal(t, want, s.evictedPods())
		for _, name := range want {
			assert.True(t, s.isStopped(name), name)
		}
	}, "--write-kubeconfig", kubeconfig, "--api-write", "--api-listen", e2e.FreePort(t))
}
