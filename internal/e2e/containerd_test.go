//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// A containerd starts, makes a sandbox and survives a kill. It leaves nothing behind, not even of a container without a
// shim that it has lost the record of.
func TestStart(t *testing.T) {
	t.Parallel()
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			var dir string
			t.Run("life", func(t *testing.T) { dir = runContainerd(t, version) })
			if dir == "" {
				return
			}
			_, err := os.Stat(dir)
			require.ErrorIs(t, err, os.ErrNotExist)
			mounts, err := os.ReadFile("/proc/self/mounts")
			require.NoError(t, err)
			assert.NotContains(t, string(mounts), dir)
			assert.Empty(t, findProcesses(dir, "cmdline"))
			assert.Empty(t, findProcesses(dir, "mountinfo"))
		})
	}
}

func runContainerd(t *testing.T, version e2e.Version) string {
	c := e2e.Start(t, version)
	client := cri.NewRuntimeServiceClient(c.Conn())
	v, err := client.Version(t.Context(), &cri.VersionRequest{})
	require.NoError(t, err)
	t.Logf("%s %s", v.RuntimeName, v.RuntimeVersion)
	images := cri.NewImageServiceClient(c.Conn())
	for _, image := range []string{c.Registry.Image(), c.Registry.NextImage()} {
		_, err = images.PullImage(t.Context(), &cri.PullImageRequest{Image: &cri.ImageSpec{Image: image}})
		require.NoError(t, err)
	}
	_, err = images.PullImage(t.Context(), &cri.PullImageRequest{Image: &cri.ImageSpec{Image: c.Registry.MissingImage()}})
	require.Error(t, err)
	_, err = client.RunPodSandbox(t.Context(), &cri.RunPodSandboxRequest{Config: &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: "a", Namespace: "b", Uid: "c"}, Linux: &cri.LinuxPodSandboxConfig{},
	}})
	require.NoError(t, err)
	c.Kill()
	c.Restart()
	list, err := client.ListPodSandbox(t.Context(), &cri.ListPodSandboxRequest{})
	require.NoError(t, err)
	assert.Len(t, list.Items, 1)
	c.Kill()
	for _, pid := range findProcesses(c.Dir, "cmdline") {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	for _, memory := range []string{"root/io.containerd.metadata.v1.bolt", "state/io.containerd.runtime.v2.task"} {
		_ = os.RemoveAll(filepath.Join(c.Dir, memory)) // As far as nothing is mounted on it.
	}
	require.NotEmpty(t, findProcesses(c.Dir, "mountinfo"))
	return c.Dir
}

// findProcesses returns the processes whose file in /proc mentions a directory.
func findProcesses(dir, file string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/" + file)
	for _, name := range files {
		text, _ := os.ReadFile(name) // Gone is as good as empty.
		if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name))); strings.Contains(string(text), dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}
