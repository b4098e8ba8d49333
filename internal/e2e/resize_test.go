//go:build linux

package e2e_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// resizeLimit is how long a change of a cgroup file may take after a patch of pods/resize, beside other tests.
const resizeLimit = time.Second

// apiClient sends requests to the Kubernetes API of an agent, with the credentials of its kubeconfig.
type apiClient struct {
	*scene
	http          *http.Client
	server, token string
}

// newAPIClient reads the kubeconfig, which the agent writes when its API is served.
func newAPIClient(s *scene, kubeconfig string) *apiClient {
	s.Helper()
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct{ User struct{ Token string } }
	}
	s.waitFor("the API is served", soon, func() bool {
		text, err := os.ReadFile(kubeconfig)
		return err == nil && json.Unmarshal(text, &config) == nil
	})
	roots := x509.NewCertPool()
	require.True(s, roots.AppendCertsFromPEM(config.Clusters[0].Cluster.CA))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	s.Cleanup(transport.CloseIdleConnections)
	a := &apiClient{scene: s, http: &http.Client{Transport: transport, Timeout: soon}, server: config.Clusters[0].Cluster.Server, token: config.Users[0].User.Token}
	s.waitFor("the API is ready", soon, func() bool { code, _ := a.sendRequest(http.MethodGet, "/readyz", "", ""); return code == http.StatusOK })
	return a
}

// sendRequest sends a request and returns the status code and the body of the response.
func (a *apiClient) sendRequest(method, path, media, body string) (code int, text string) {
	a.Helper()
	req, err := http.NewRequestWithContext(a.Context(), method, a.server+path, strings.NewReader(body))
	require.NoError(a, err)
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", media)
	resp, err := a.http.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	all, err := io.ReadAll(resp.Body)
	require.NoError(a, err)
	return resp.StatusCode, string(all)
}

// resizePod patches the limits of the container web through pods/resize. The requests of the pod do not change.
func (a *apiClient) resizePod(pod, cpu, memory string) {
	a.Helper()
	code, text := a.sendRequest(http.MethodPatch, "/api/v1/namespaces/default/pods/"+pod+"/resize", "application/strategic-merge-patch+json",
		fmt.Sprintf(`{"spec":{"containers":[{"name":"web","resources":{"limits":{"cpu":%q,"memory":%q}}}]}}`, cpu, memory))
	require.Equal(a, http.StatusOK, code, text)
}

// cgroupFile returns the path of a file in the cgroup of a container: on cgroup v1 file1 of a controller, on v2
// file2.
func (s *scene) cgroupFile(containerID, controller, file1, file2 string) string {
	s.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cgroup")
	require.NoError(s, err)
	for _, file := range found {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // The process has exited.
		}
		for line := range strings.Lines(string(text)) {
			parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(parts) != 3 || !strings.HasSuffix(parts[2], containerID) {
				continue
			}
			if path := filepath.Join("/sys/fs/cgroup", controller, parts[2], file1); strings.Contains(","+parts[1]+",", ","+controller+",") && isFile(path) {
				return path
			}
			if path := filepath.Join("/sys/fs/cgroup", parts[2], file2); parts[0] == "0" && isFile(path) {
				return path
			}
		}
	}
	require.Fail(s, "the container has no cgroup", "%s %s", containerID, controller)
	return ""
}

// isFile reports whether a file exists.
func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// awaitFile waits until the first word of a file is the wanted one, and returns how long that took since a time.
func (s *scene) awaitFile(path, want string, since time.Time) time.Duration {
	s.Helper()
	for end := since.Add(soon); ; {
		text, err := os.ReadFile(path)
		require.NoError(s, err)
		if strings.Fields(string(text))[0] == want {
			return real.Now().Sub(since)
		}
		require.False(s, real.Now().After(end), "%s is %s, not %s", path, text, want)
		_ = real.Sleep(s.Context(), time.Millisecond)
	}
}

// RZ-35, RZ-43: a running container gets more and less cpu and memory without a restart, and its cgroup has the new
// limits soon after the patch. A memory limit below the memory in use is refused with the condition Error, and
// taken when the memory is released.
func TestResize_RZ35_RZ43(t *testing.T) {
	skipUnlessLong(t)
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	runOnFamilies(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		s := newScene(t, c, a)
		t.Cleanup(func() { _ = os.Remove(kubeconfig) }) // The agent of the next family writes its own.
		client := newAPIClient(s, kubeconfig)
		name := "resized-" + e2e.NodeName
		code, text := client.sendRequest(http.MethodPost, "/api/v1/namespaces/default/pods", "application/json", fmt.Sprintf(
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},"spec":{"terminationGracePeriodSeconds":2,"containers":[{"name":"web","image":%q,"command":["sh","-c","trap 'exit 0' TERM; sleep 100000 & wait"],"resources":{"requests":{"cpu":"100m","memory":"16Mi"},"limits":{"cpu":"500m","memory":"128Mi"}}}]}}`,
			name, c.Registry.Image()))
		require.Equal(t, http.StatusCreated, code, text)
		s.awaitReady("resized")
		before := s.runningContainer("resized", "web")
		cpu := s.cgroupFile(before.Id, "cpu", "cpu.cfs_quota_us", "cpu.max")
		memory := s.cgroupFile(before.Id, "memory", "memory.limit_in_bytes", "memory.max")
		s.awaitFile(cpu, "50000", real.Now())
		s.awaitFile(memory, fmt.Sprint(128<<20), real.Now())

		for _, r := range []struct {
			cpu, memory, quota string
			bytes              int
		}{{"1", "256Mi", "100000", 256 << 20}, {"300m", "100Mi", "30000", 100 << 20}, {"2", "100Mi", "200000", 100 << 20}, {"2", "200Mi", "200000", 200 << 20}, {"1500m", "100Mi", "150000", 100 << 20}} {
			since := real.Now()
			client.resizePod(name, r.cpu, r.memory)
			took := max(s.awaitFile(cpu, r.quota, since), s.awaitFile(memory, fmt.Sprint(r.bytes), since))
			t.Logf("cpu %s, memory %s: %s from the patch to the cgroup", r.cpu, r.memory, took.Round(time.Millisecond))
			assert.Less(t, took, resizeLimit)
			s.awaitPod("resized", "resized", func(p *v1.Pod) bool {
				actual := statusOf(p, "web").Resources
				return actual != nil && actual.Limits.Cpu().String() == r.cpu && actual.Limits.Memory().String() == r.memory && resizeCondition(p) == nil
			})
		}

		s.runScript("resized", "web", "dd if=/dev/zero of=/dev/shm/file bs=1048576 count=50 2>/dev/null")
		client.resizePod(name, "1500m", "40Mi")
		refused := s.awaitPod("resized", "refused", func(p *v1.Pod) bool {
			return resizeCondition(p) != nil && resizeCondition(p).Reason == v1.PodReasonError
		})
		t.Logf("the condition: %s", resizeCondition(refused).Message)
		assert.Equal(t, "100Mi", statusOf(refused, "web").Resources.Limits.Memory().String())
		s.awaitFile(memory, fmt.Sprint(100<<20), real.Now())
		s.runScript("resized", "web", "rm /dev/shm/file")
		client.resizePod(name, "1500m", "41Mi")
		s.awaitFile(memory, fmt.Sprint(41<<20), real.Now())

		after := s.runningContainer("resized", "web")
		assert.Equal(t, before.Id, after.Id)
		assert.Equal(t, before.StartedAt, after.StartedAt)
		code, text = client.sendRequest(http.MethodDelete, "/api/v1/namespaces/default/pods/"+name, "", "")
		require.Equal(t, http.StatusOK, code, text)
		s.waitUntilGone("resized")
	}, "--write-kubeconfig", kubeconfig, "--api-write", "--api-listen", e2e.FreePort(t))
}

// resizeCondition returns the condition PodResizeInProgress of a pod, or nil.
func resizeCondition(pod *v1.Pod) *v1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.PodResizeInProgress {
			return c
		}
	}
	return nil
}

// RZ-21: a changed manifest resizes its pod if the manifest has a UID. Without a UID it is another pod.
func TestResize_RZ21_Manifest(t *testing.T) {
	skipUnlessLong(t)
	runOnFamilies(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		s := newScene(t, c, a)
		write := func(name, memory string, metadata ...string) {
			s.writePod(name, `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: STAY, resources: {requests: {cpu: 100m, memory: 16Mi}, limits: {memory: MEMORY}}}
`, append(metadata, "MEMORY="+memory)...)
		}
		write("own", "64Mi", "uid: 5f6f4c1e-0000-4000-8000-000000000001")
		write("derived", "64Mi")
		own, derived := s.awaitReady("own"), s.awaitReady("derived")
		before := s.runningContainer("own", "web")
		memory := s.cgroupFile(before.Id, "memory", "memory.limit_in_bytes", "memory.max")
		since := real.Now()
		write("own", "96Mi", "uid: 5f6f4c1e-0000-4000-8000-000000000001")
		write("derived", "96Mi")
		t.Logf("%s from the manifest to the cgroup", s.awaitFile(memory, fmt.Sprint(96<<20), since).Round(time.Millisecond))
		next := s.awaitPod("derived", "replaced", func(p *v1.Pod) bool { return p.UID != derived.UID && isReady(p) })
		assert.NotEqual(t, derived.UID, next.UID)
		assert.Equal(t, own.UID, s.awaitReady("own").UID)
		assert.Equal(t, before.Id, s.runningContainer("own", "web").Id)
		s.removePod("own")
		s.removePod("derived")
	})
}
