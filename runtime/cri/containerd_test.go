//go:build linux

package cri_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/e2e"
	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri"
	"github.com/podkeel/podkeel/runtime/runtimetest"
)

// The suite on real containerds. Its cases run side by side, except the case that removes the image of the others. The
// short form has some of the cases only: TestConformance_InProcess has all.
func TestConformance_Containerd(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes a minute of real time")
	}
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			c, cases := e2e.Start(t, version), runtimetest.Cases()
			for i := 0; i < len(cases); i += longtest.Stride(len(cases), 20) {
				t.Run(cases[i].Name, func(t *testing.T) { cases[i].Run(t, real(t, c)) })
			}
		})
	}
}

// startSandbox starts containerd and a sandbox with the image of its registry. It returns a runtime with this owner, and
// a request for a container in the sandbox.
func startSandbox(t *testing.T, version e2e.Version, owner string) (*cri.Runtime, runtime.CreateContainerRequest) {
	t.Helper()
	c := e2e.Start(t, version)
	r, err := cri.New(cri.Config{Endpoint: c.Endpoint, Owner: owner})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	_, err = r.PullImage(t.Context(), runtime.PullImageRequest{Image: c.Registry.Image()})
	require.NoError(t, err)
	run := sandboxOf(web)
	run.LogDir = t.TempDir()
	sandbox, err := r.RunSandbox(t.Context(), run)
	require.NoError(t, err)
	create := containerOf(web, sandbox)
	create.Image = c.Registry.Image()
	return r, create
}

// A container with a target sees its processes.
func TestContainerd_PIDTarget(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes seconds of real time")
	}
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			r, create := startSandbox(t, version, "target")
			create.LogPath = ""
			start := func(name, target string, command ...string) (id string) {
				create.Name, create.PIDTarget, create.Command = name, target, command
				id, err := r.CreateContainer(t.Context(), create)
				require.NoError(t, err)
				require.NoError(t, r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id}))
				return id
			}
			first := func(id string) string {
				res, err := r.Exec(t.Context(), runtime.ExecRequest{ContainerID: id, OutputLimit: 1 << 10, Command: []string{"cat", "/proc/1/cmdline"}})
				require.NoError(t, err)
				return strings.Trim(strings.ReplaceAll(string(res.Output), "\x00", " "), " ")
			}
			target := start("main", "", "sleep", "3600")
			assert.Equal(t, "sleep 3600", first(start("debugger", target, "sleep", "3601")))
			assert.Equal(t, "sleep 3602", first(start("apart", "", "sleep", "3602")))
		})
	}
}

// A container with a limit of processes starts whatever the cgroups of the host are, and
// limits can be changed and removed while it runs.
func TestContainerd_LimitsAreSetAndRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes seconds of real time")
	}
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			r, create := startSandbox(t, version, "limits")
			create.Command, create.LogPath = []string{"sleep", "3600"}, "0.log"
			create.Resources = runtime.Resources{PIDs: 20, MemoryBytes: 64 << 20, CPUPeriod: 100 * time.Millisecond, CPUQuota: 50 * time.Millisecond}
			id, err := r.CreateContainer(t.Context(), create)
			require.NoError(t, err)
			require.NoError(t, r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id}))
			limit := func(v1, v2 string) string {
				res, err := r.Exec(t.Context(), runtime.ExecRequest{ContainerID: id, OutputLimit: 1 << 10,
					Command: []string{"sh", "-c", "cat /sys/fs/cgroup/" + v2 + " 2>/dev/null || cat /sys/fs/cgroup/" + v1}})
				require.NoError(t, err)
				return strings.TrimSpace(string(res.Output))
			}
			assert.Equal(t, "67108864", limit("memory/memory.limit_in_bytes", "memory.max"))
			require.NoError(t, r.UpdateContainer(t.Context(), runtime.UpdateContainerRequest{ContainerID: id, Resources: runtime.Resources{
				MemoryBytes: runtime.Unlimited, CPUQuota: runtime.Unlimited, PIDs: runtime.Unlimited,
			}}))
			assert.Contains(t, []string{"max", "9223372036854771712"}, limit("memory/memory.limit_in_bytes", "memory.max"))
			assert.Contains(t, []string{"-1", "max 100000"}, limit("cpu/cpu.cfs_quota_us", "cpu.max"))
			assert.Contains(t, []string{"max"}, limit("pids/pids.max", "pids.max"))
			require.NoError(t, r.StopSandbox(t.Context(), runtime.StopSandboxRequest{SandboxID: create.SandboxID}))
			require.NoError(t, r.RemoveSandbox(t.Context(), runtime.RemoveSandboxRequest{SandboxID: create.SandboxID}))
		})
	}
}

func real(t *testing.T, c *e2e.Containerd) runtimetest.Harness {
	if !strings.HasSuffix(t.Name(), "/image/remove") {
		t.Parallel()
	}
	r := agent(t, c)
	h := runtimetest.Harness{
		Runtime: r, Image: c.Registry.Image(), MissingImage: c.Registry.MissingImage(), LogDir: t.TempDir(), StdoutFirst: true,
		Reopen: func(meanwhile func()) (runtime.Runtime, error) {
			require.NoError(t, r.Close())
			meanwhile()
			return agent(t, c), nil
		},
	}
	h.Skip = map[string]string{}
	if c.Version != e2e.Containerd2 {
		h.Skip["stop/signal"] = "containerd before 2.1 does not know the stop signal of a request"
	}
	if c.Version == e2e.Containerd16 {
		h.Skip["events/changes"] = "containerd 1.6 has no stream of events"
		h.Skip["events/context"] = "containerd 1.6 has no stream of events"
	}
	return h
}

// agent is a client of a containerd, as an agent has one for as long as it lives.
func agent(t *testing.T, c *e2e.Containerd) *cri.Runtime {
	r, err := cri.New(cri.Config{Endpoint: c.Endpoint, Owner: "conformance"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() }) // It may be closed already.
	return r
}

// N37-79: a variable whose value is not UTF-8 keeps no container from being created. containerd, up to
// 2.4 at least, keeps the specification of a container as JSON, and replaces bytes that are not UTF-8.
func TestContainerd_N37_79_EnvOfAnyBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes seconds of real time")
	}
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			p := newPeople(t, e2e.Start(t, version))
			id := p.container("env", "sleep 100000", func(req *runtime.CreateContainerRequest) {
				req.Env = []runtime.EnvVar{{Name: "KEY", Value: "a\xff\xfe"}, {Name: "TEXT", Value: "ü"}}
			})
			res, err := p.r.Exec(p.within(), runtime.ExecRequest{ContainerID: id, Command: []string{"sh", "-c", `printf %s "$KEY$TEXT" | od -An -tx1`}})
			require.NoError(t, err)
			assert.Contains(t, []string{" 61 ef bf bd ef bf bd c3 bc\n", " 61 ff fe c3 bc\n"}, string(res.Output))
		})
	}
}
