package main

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestAgentArguments: the flags and the configuration file of a kubelet become flags of examples/cluster.
func TestAgentArguments(t *testing.T) {
	flags := parseFlags([]string{"--kubeconfig", "k", "--root-dir", "/var/lib/kubelet", "--hostname-override=n", "--container-runtime-endpoint", "unix:///c.sock"})
	var config kubeletConfig
	require.NoError(t, yaml.Unmarshal([]byte(baseConfig), &config))
	limit := int64(100)
	config.StaticPodPath, config.PodPidsLimit, config.MaxPods = "/pods", &limit, 10
	config.EvictionSoft, config.EvictionSoftGracePeriod = map[string]string{"nodefs.available": "1"}, map[string]string{"nodefs.available": "30s"}
	config.EvictionMaxPodGracePeriod = 30
	config.KubeReserved, config.SystemReserved = map[string]string{"cpu": "100m", "memory": "1Gi"}, map[string]string{"pid": "10"}
	assert.Equal(t, []string{
		"--kubeconfig=k", "--hostname-override=n", "--runtime=cri", "--container-runtime-endpoint=unix:///c.sock", "--root-dir=/var/lib/kubelet",
		"--address=127.0.0.1", "--node-ip=192.168.77.2", "--pod-manifest-path=/pods", "--cluster-domain=cluster.local",
		"--max-pods=10", "--pod-max-pids=100", "--kube-reserved=cpu=100m,memory=1Gi", "--system-reserved=pid=10",
		"--eviction-hard=memory.available<250Mi,nodefs.available<1%,nodefs.inodesFree<1%", "--eviction-soft=nodefs.available<1",
		"--eviction-soft-grace-period=nodefs.available=30s", "--eviction-minimum-reclaim=nodefs.available=1%,nodefs.inodesFree=1%",
		"--eviction-pressure-transition-period=30s", "--eviction-max-pod-grace-period=30",
	}, agentArguments(flags, config))
}

// TestUnits: the suite creates the unit with systemd-run, stops and restarts it, and finds it while it runs.
func TestUnits(t *testing.T) {
	dir := t.TempDir()
	var started [][]string
	u := &units{start: func(args []string, at string) (*process, error) {
		started = append(started, append([]string{at}, args...))
		return startProcess(dir, filepath.Join(dir, "log"), nil, "sleep", "1000")
	}}
	t.Cleanup(func() { u.stopNode() })
	ask := func(program string, args ...string) string {
		text, err := u.executeCommand(unitRequest{Program: program, Args: args, Dir: "/suite"})
		require.NoError(t, err)
		return text
	}
	const running = "kubelet-2026.service loaded active running\n"
	assert.Empty(t, ask("systemctl", "list-units", "*kubelet*"))
	ask("systemd-run", "-p", "Delegate=true", "--unit=kubelet-2026.service", "/bin/kubelet", "--v", "4")
	assert.Equal(t, [][]string{{"/suite", "--v", "4"}}, started)
	assert.Equal(t, running, ask("systemctl", "list-units", "*kubelet*", "--state=running"))
	ask("systemctl", "kill", "kubelet-2026")
	assert.Empty(t, ask("systemctl", "list-units", "*kubelet*", "--state=running"))
	assert.Equal(t, running, ask("systemctl", "list-units", "*kubelet*"))
	ask("systemctl", "restart", "kubelet-2026")
	assert.Len(t, started, 2)
	u.node.signalAndWait(syscall.SIGKILL)
	assert.False(t, u.isRunning())
	_, err := u.executeCommand(unitRequest{Program: "systemctl", Args: []string{"mask", "x"}})
	assert.EqualError(t, err, "systemctl: mask x is not supported")
	_, err = u.executeCommand(unitRequest{Program: "systemd-run", Args: []string{"/bin/true"}})
	assert.EqualError(t, err, "systemd-run: no kubelet in /bin/true")
}

// TestFront_UseKubeconfig: the token of the first user is used. A file without a user is an error.
func TestFront_UseKubeconfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte("users:\n- name: kubelet\n  user:\n    token: secret\n"), 0o600))
	f := newFront()
	require.NoError(t, f.useKubeconfig(file))
	assert.Equal(t, "secret", *f.token.Load())
	require.NoError(t, os.WriteFile(file, []byte("users: []\n"), 0o600))
	assert.EqualError(t, f.useKubeconfig(file), file+" has no user")
}

// TestRewriteResponse: a refusal of /metrics/cadvisor has no text, and the configuration has the ports of the front. Other
// responses do not change.
func TestRewriteResponse(t *testing.T) {
	rewrite := func(path string, status int, body string) string {
		r := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: &http.Request{URL: &url.URL{Path: path}}}
		require.NoError(t, rewriteResponse(r))
		text, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return string(text)
	}
	assert.Empty(t, rewrite("/metrics/cadvisor", http.StatusNotImplemented, "no metrics"))
	assert.Equal(t, "a 1\n", rewrite("/metrics/cadvisor", http.StatusOK, "a 1\n"))
	assert.Equal(t, "no metrics", rewrite("/metrics", http.StatusNotImplemented, "no metrics"))
	assert.Equal(t, `{"kubeletconfig":{"address":"0.0.0.0","cgroupDriver":"cgroupfs","cgroupRoot":"/","readOnlyPort":10255}}`, rewrite("/configz", http.StatusOK, `{"kubeletconfig":{}}`))
}
