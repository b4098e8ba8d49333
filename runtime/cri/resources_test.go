package cri_test

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	criv1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri"
)

// CRI passes a limit of processes among the settings of cgroup v2, and a runtime on cgroup
// v1 refuses a container with any of those. There no request has them, and the log tells
// which container goes without its limit.
func TestResources_PIDsByCgroupVersion(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int
		pids    int64
		unified map[string]string
		log     string
	}{
		{"v2 limited", 2, 9, map[string]string{"pids.max": "9"}, ""},
		{"v2 unlimited", 2, runtime.Unlimited, map[string]string{"pids.max": "max"}, ""},
		{"v1 limited", 1, 9, nil, noPIDs + "uid=u\n" + noPIDs + "uid=u container=limited\n" + noPIDs + "id=ID\n"},
		{"v1 unlimited", 1, runtime.Unlimited, nil, ""},
		{"v1 nothing asked", 1, 0, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				s := newFake(t)
				r := s.client("me", func(cfg *cri.Config) {
					cfg.CgroupVersion, cfg.Log = c.version, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: untimed}))
				})
				resources := runtime.Resources{CPUShares: 7, PIDs: c.pids}
				_, err := r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox"})
				require.NoError(t, err)
				run := sandboxOf(web)
				run.Resources = resources
				sandbox, err := r.RunSandbox(t.Context(), run)
				require.NoError(t, err)
				create := containerOf(web, sandbox)
				create.Name, create.Resources = "limited", resources
				id, err := r.CreateContainer(t.Context(), create)
				require.NoError(t, err)
				require.NoError(t, r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id}))
				require.NoError(t, r.UpdateContainer(t.Context(), runtime.UpdateContainerRequest{ContainerID: id, Resources: resources}))
				for where, got := range map[string]*criv1.LinuxContainerResources{
					"sandbox":   last[*criv1.RunPodSandboxRequest](s.fake).Config.Linux.Resources,
					"container": last[*criv1.CreateContainerRequest](s.fake).Config.Linux.Resources,
					"update":    last[*criv1.UpdateContainerResourcesRequest](s.fake).Linux,
				} {
					assert.Equal(t, c.unified, got.Unified, where)
					assert.Equal(t, int64(7), got.CpuShares, where)
				}
				assert.Equal(t, c.log, string(bytes.ReplaceAll(log.Bytes(), []byte(id), []byte("ID"))))
			})
		})
	}
}

const noPIDs = `level=WARN msg="the container runs without PID limit: CRI has none for cgroup v1" `

// untimed removes the time of a record.
func untimed(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// An update that asks only for what the host cannot do is not sent.
func TestResources_NothingIsLeftToUpdateOnCgroupV1(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me", func(cfg *cri.Config) { cfg.CgroupVersion = 1 })
		_, id := running(t, r, web)
		require.NoError(t, r.UpdateContainer(t.Context(), runtime.UpdateContainerRequest{ContainerID: id, Resources: runtime.Resources{PIDs: 5}}))
		assert.Zero(t, s.called("UpdateContainerResources"))
	})
}
