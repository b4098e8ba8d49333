//go:build linux

package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// victimMaxPIDs is the limit of processes of a pod in TestVictims.
const victimMaxPIDs = 64

// EV-28, OM-9, OM-10: a fork bomb, a container that is killed for its memory again and again, and a filled emptyDir
// each affect only their own pod.
func TestVictims_EV28_OM9_OM10(t *testing.T) {
	skipUnlessLong(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	runOnFamilies(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		s := newScene(t, c, a)
		t.Cleanup(func() { _ = os.Remove(kubeconfig) }) // The agent of the next family writes its own.
		client := newAPIClient(s, kubeconfig)
		n := startUnaffected(s)
		for _, victim := range []struct {
			name string
			run  func(*scene, *apiClient)
		}{{"forks", forkBomb}, {"memory", oomLoop}, {"disk", filledEmptyDir}} {
			t.Run(victim.name, func(t *testing.T) {
				from := real.Now()
				on := s.withTest(t)
				victim.run(on, client)
				n.requireUnaffected(on)
				t.Logf("%s", real.Now().Sub(from).Round(100*time.Millisecond))
			})
		}
	}, "--pod-max-pids", strconv.Itoa(victimMaxPIDs), "--eviction-hard", "memory.available<1Mi,nodefs.available<1Mi",
		"--write-kubeconfig", kubeconfig, "--api-write", "--api-listen", e2e.FreePort(t))
}

// unaffected are pods of each QoS class beside the victims, with the IDs of their containers.
type unaffected map[string]string

// startUnaffected starts the pods and waits until they are ready.
func startUnaffected(s *scene) unaffected {
	s.Helper()
	n := unaffected{}
	resources := map[string]string{
		"besteffort": "{}",
		"burstable":  "{requests: {cpu: 10m, memory: 8Mi}}",
		"guaranteed": "{limits: {cpu: 100m, memory: 32Mi}}",
	}
	for name, text := range resources {
		s.writePod(name, `
terminationGracePeriodSeconds: 2
volumes: [{name: scratch, emptyDir: {sizeLimit: 4Mi}}]
containers:
- {name: web, image: IMAGE, command: STAY, resources: RESOURCES, volumeMounts: [{name: scratch, mountPath: /scratch}]}
`, "RESOURCES="+text)
	}
	for name := range resources {
		s.awaitReady(name)
		n[name] = s.runningContainer(name, "web").Id
	}
	return n
}

// requireUnaffected fails the test if a pod is not ready, has another container, was restarted, or cannot start a process.
func (n unaffected) requireUnaffected(s *scene) {
	s.Helper()
	for name, id := range n {
		p := s.awaitReady(name)
		assert.Equal(s, v1.PodRunning, p.Status.Phase, name)
		assert.Zero(s, statusOf(p, "web").RestartCount, name)
		assert.Equal(s, id, s.runningContainer(name, "web").Id, name)
		assert.Equal(s, "2", s.runScript(name, "web", "echo 1 2 | (read a b; echo $b > /scratch/file; cat /scratch/file)"), name)
	}
}

// forkBomb: each process of a container starts two others, until the pod has as many as it may. The container runs on,
// and no other process can be started in it.
func forkBomb(s *scene, _ *apiClient) {
	s.writePod("bomb", `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: [sh, -c, 'bomb() { bomb & bomb & sleep 100000; }; (sleep 1; bomb) & exec sleep 100000']}
`)
	s.awaitReady("bomb")
	container := filepath.Dir(s.cgroupFile(s.runningContainer("bomb", "web").Id, "pids", "pids.current", "pids.current"))
	pod := filepath.Dir(container)
	read := func(path ...string) int {
		text, err := os.ReadFile(filepath.Join(path...))
		require.NoError(s, err)
		number, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(string(text)), "max "))
		require.NoError(s, err)
		return number
	}
	s.waitFor("the kernel has refused a process", soon, func() bool { // Cgroup v1 counts it in the cgroup of the process.
		return read(pod, "pids.events")+read(container, "pids.events") > 0
	})
	assert.Equal(s, victimMaxPIDs, read(pod, "pids.max"))
	assert.LessOrEqual(s, read(pod, "pids.current"), victimMaxPIDs)
	assert.Greater(s, read(pod, "pids.current"), victimMaxPIDs/4, "a process without its two children exits")
	status := statusOf(s.awaitReady("bomb"), "web")
	assert.Zero(s, status.RestartCount)
	assert.NotNil(s, status.State.Running)
	s.removePod("bomb")
}

// oomLoop: a container is killed for its memory and restarted, with a growing delay.
func oomLoop(s *scene, _ *apiClient) {
	s.writePod("loop", `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: [sh, -c, 'tail /dev/zero; code=$?; sleep 1; exit $code'], resources: {limits: {memory: 16Mi}}}
`)
	killed := false
	p := s.awaitPod("loop", "restarted twice", func(p *v1.Pod) bool {
		exit := lastExit(p, "web")
		killed = killed || exit != nil && exit.Reason == "OOMKilled"
		return killed && statusOf(p, "web").RestartCount >= 2 && statusOf(p, "web").State.Waiting != nil
	})
	assert.Equal(s, v1.PodRunning, p.Status.Phase)
	assert.False(s, isReady(p))
	assert.Equal(s, "CrashLoopBackOff", statusOf(p, "web").State.Waiting.Reason)
	assert.EqualValues(s, 137, lastExit(p, "web").ExitCode)
	s.removePod("loop")
}

// filledEmptyDir: a container writes more into an emptyDir than its size limit. The pod is evicted.
func filledEmptyDir(s *scene, client *apiClient) {
	name := "full-" + e2e.NodeName
	code, text := client.sendRequest(http.MethodPost, "/api/v1/namespaces/default/pods", "application/json", fmt.Sprintf(
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},"spec":{"terminationGracePeriodSeconds":2,"volumes":[{"name":"scratch","emptyDir":{"sizeLimit":"4Mi"}}],"containers":[{"name":"web","image":%q,"command":["sh","-c","dd if=/dev/zero of=/scratch/file bs=1M count=16; sleep 100000"],"volumeMounts":[{"name":"scratch","mountPath":"/scratch"}]}]}}`,
		name, s.c.Registry.Image()))
	require.Equal(s, http.StatusCreated, code, text)
	p := s.awaitPod("full", "evicted", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	assert.Equal(s, "Evicted", p.Status.Reason)
	assert.Equal(s, `Usage of EmptyDir volume "scratch" exceeds the limit "4Mi". `, p.Status.Message)
	s.waitFor("its container has stopped", soon, func() bool { return s.isStopped("full") })
	code, text = client.sendRequest(http.MethodDelete, "/api/v1/namespaces/default/pods/"+name, "", "")
	require.Equal(s, http.StatusOK, code, text)
	s.waitUntilGone("full")
}
