package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// TestStateDir: volumes, objects and hosts files are on disk while the pod exists, and its directory is removed after
// it has terminated.
func TestStateDir(t *testing.T) {
	dir := t.TempDir()
	state, manifests, objects := filepath.Join(dir, "state"), filepath.Join(dir, "m"), filepath.Join(dir, "o")
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(filepath.Join(objects, "configmaps", "default", "menu", "soup"), "leek")
	write(filepath.Join(manifests, "p.yaml"), `
apiVersion: v1
kind: Pod
metadata: {name: diner, uid: u1}
spec:
  volumes: [{name: menu, configMap: {name: menu}}, {name: plates, emptyDir: {}}]
  containers:
  - {name: c, image: "x:1", volumeMounts: [{name: menu, mountPath: /menu}, {name: plates, mountPath: /plates}]}
`)
	out, log := newLines(), newLines()
	signals, code := make(chan os.Signal, 1), make(chan int, 1)
	go func() {
		code <- run([]string{"--manifests", manifests, "--node-name", "n", "--listen", "", "--state-dir", state, "--objects", objects, "--on-exit", "stop"}, signals, out, log)
	}()
	out.until(t, "diner-n", "1/1", "Running")
	pods, err := filepath.Glob(filepath.Join(state, "pods", "*"))
	require.NoError(t, err)
	require.Len(t, pods, 1)
	soup, err := os.ReadFile(filepath.Join(pods[0], "volumes", "menu", "soup"))
	require.NoError(t, err)
	assert.Equal(t, "leek", string(soup))
	assert.DirExists(t, filepath.Join(pods[0], "volumes", "plates"))
	hosts, err := os.ReadFile(filepath.Join(pods[0], "etc-hosts"))
	require.NoError(t, err)
	assert.Contains(t, string(hosts), "diner-n")

	require.NoError(t, os.Remove(filepath.Join(manifests, "p.yaml")))
	out.until(t, "diner-n", "Gone")
	assert.NoDirExists(t, pods[0])
	signals <- os.Interrupt
	assert.Equal(t, exitOK, <-code)
}

// TestStateDir_F74: a state directory is used by one agent at a time. Two agents would kill each other's pods. An agent
// that has exited releases it.
func TestStateDir_F74(t *testing.T) {
	if goruntime.GOOS == "windows" {
		t.Skip("directories cannot be claimed on this system")
	}
	state := t.TempDir()
	args := []string{"--manifests", t.TempDir(), "--listen", "", "--state-dir", state}
	begin := func() (chan<- os.Signal, <-chan int) {
		out, log := newLines(), newLines()
		signals, code := make(chan os.Signal, 1), make(chan int, 1)
		go func() { code <- run(args, signals, out, log) }()
		log.until(t, "the agent runs")
		return signals, code
	}
	writing := filepath.Join(state, "ended", ".u1") // What the first agent is just writing.
	for range 2 {
		signals, code := begin()
		require.NoError(t, os.WriteFile(writing, []byte("half of it"), 0o600))
		var out, log strings.Builder
		assert.Equal(t, exitUsage, run(args, nil, &out, &log))
		assert.Equal(t, fmt.Sprintf("agent: --state-dir %q: another agent uses it\n", state), log.String())
		assert.FileExists(t, writing, "who is refused has touched nothing")
		signals <- os.Interrupt
		assert.Equal(t, exitOK, <-code)
	}
	a, err := newAgent(options{stateDir: state, manifests: t.TempDir(), nodeName: "n", listen: "nowhere"}, io.Discard, io.Discard)
	require.Error(t, err)
	assert.Nil(t, a)
	claimed, err := osfile.LockDir(state)
	require.NoError(t, err, "who has failed has left it, too")
	require.NoError(t, claimed.Close())
}

// TestNodeConfig: the flags set the configuration of the node.
func TestNodeConfig(t *testing.T) {
	o, err := parseAgentOptions([]string{
		"--capacity", "cpu=4,memory=8Gi,pods=250", "--labels", "disk=ssd,zone=", "--max-parallel-pulls", "0",
		"--cluster-dns", "192.0.2.53,2001:db8::53", "--cluster-domain", "Cluster.local.",
		"--image-gc-high", "70", "--image-gc-low", "60", "--image-max-age", "24h",
		"--log-max-size", "64Ki", "--log-max-files", "3",
	})
	require.NoError(t, err)
	c, _, err := o.lockStateDirAndConfigureNode(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	assert.Equal(t, "8Gi", c.Scheduling.Capacity.Memory().String())
	assert.Equal(t, 250, c.Scheduling.MaxPods)
	assert.Equal(t, map[string]string{"disk": "ssd", "zone": ""}, c.Scheduling.Labels)
	assert.Equal(t, []int{-1, -1}, []int{c.Images.MaxPulls, c.Images.MaxPullsPerRegistry})
	assert.Equal(t, []string{"192.0.2.53", "2001:db8::53"}, c.Containers.DNS.ClusterDNS)
	assert.Equal(t, "cluster.local", c.Containers.DNS.ClusterDomain)
	assert.Equal(t, policy.Images{HighThresholdPercent: 70, LowThresholdPercent: 60, MaxAge: 24 * time.Hour}, c.Images.GC)
	assert.Equal(t, []int{64 << 10, 3}, []int{int(c.Logs.MaxBytes), c.Logs.MaxFiles})
	assert.NotNil(t, c.Probes.GRPC)
	assert.NotNil(t, c.Containers.HTTP)
	assert.Nil(t, c.Volumes.Manager, "the node has them in memory")
	door, err := c.Volumes.Objects.Secret(t.Context(), "default", "door")
	require.NoError(t, err, "the examples have objects")
	assert.NotEmpty(t, door.StringData)

	o, err = parseAgentOptions([]string{"--manifests", "manifests", "--log-max-size", "0"})
	require.NoError(t, err)
	c, _, err = o.lockStateDirAndConfigureNode(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	assert.Nil(t, c.Volumes.Objects)
	assert.Equal(t, int64(-1), c.Logs.MaxBytes, "logs are of any size")
}

// TestNodeConfig_CRI: the flags set the socket of the runtime and the state directory. If a flag is given twice the
// last value counts.
func TestNodeConfig_CRI(t *testing.T) {
	state, socket := t.TempDir(), filepath.Join(t.TempDir(), "r.sock")
	runtime, err := net.Listen("unix", socket)
	require.NoError(t, err)
	sought := make(chan struct{})
	go func() {
		defer close(sought)
		if c, err := runtime.Accept(); err == nil {
			_ = c.Close()
		}
		_ = runtime.Close()
	}()
	o, err := parseAgentOptions([]string{
		"--manifests", "manifests", "--runtime", "cri", "--max-container-restart-period", "1m", "--cri-endpoint", "/no/such.sock", "--cri-endpoint", socket,
		"--state-dir", t.TempDir(), "--state-dir", state, "--node-ip", "192.0.2.1", "--node-ip", "192.0.2.2", "--eviction-hard", "",
	})
	require.NoError(t, err)
	c, _, err := o.lockStateDirAndConfigureNode(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, c.Runtime.(io.Closer).Close())
	<-sought
	assert.Equal(t, []string{"192.0.2.2"}, c.Containers.HostIPs)
	assert.Equal(t, backoff.CrashLoop{Max: time.Minute}, c.Containers.CrashLoop)
	assert.Equal(t, []string{"/var/log/pods", "/var/log/containers", filepath.Join(state, "log-records"), filepath.Join(state, "logs")},
		append([]string{c.Logs.Root, c.Logs.Links, c.Logs.Records}, c.Logs.OldRoots...))
	assert.Equal(t, filepath.Join(state, "seccomp"), c.Containers.SeccompRoot)
	assert.FileExists(t, filepath.Join(state, "owner"))
}

// TestObjects_ReferencesWithoutObjects: a manifest that refers to a missing object is a fault of the file.
func TestObjects_ReferencesWithoutObjects(t *testing.T) {
	log, path := newLines(), filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(web, "name: server,", "name: server, envFrom: [{configMapRef: {name: greeting}}],")), 0o600))
	signals, code := make(chan os.Signal, 1), make(chan int, 1)
	go func() {
		code <- run([]string{"--manifests", path, "--listen", ""}, signals, newLines(), log)
	}()
	log.until(t, "refers to a config map: expected none")
	signals <- os.Interrupt
	assert.Equal(t, exitOK, <-code)
}

// TestStateDir_Ended: a pod that has terminated under one agent stays terminated under the next.
func TestStateDir_Ended(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	manifest, state := filepath.Join(dir, "p.yaml"), filepath.Join(dir, "state")
	require.NoError(t, os.WriteFile(manifest, []byte(`
apiVersion: v1
kind: Pod
metadata: {name: late, uid: u1}
spec:
  activeDeadlineSeconds: 3
  containers: [{name: c, image: "x:1"}]
`), 0o600))
	for _, starts := range []int{1, 0} {
		out, log := newLines(), newLines()
		signals, code := make(chan os.Signal, 1), make(chan int, 1)
		go func() {
			code <- run([]string{"--manifests", manifest, "--node-name", "n", "--listen", "", "--state-dir", state}, signals, out, log)
		}()
		out.until(t, "late-n", "DeadlineExceeded")
		signals <- os.Interrupt
		assert.Equal(t, exitOK, <-code)
		close(log)
		started := 0
		for line := range log {
			if hasAll(line, []string{"Started", "late-n"}) {
				started++
			}
		}
		assert.Equal(t, starts, started)
	}
}
