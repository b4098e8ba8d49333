//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// A containerd comes up, makes a sandbox, survives a kill, and leaves nothing.
func TestStart(t *testing.T) {
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			var dir string
			t.Run("life", func(t *testing.T) { dir = life(t, version) })
			if dir == "" {
				return
			}
			_, err := os.Stat(dir)
			require.ErrorIs(t, err, os.ErrNotExist)
			mounts, err := os.ReadFile("/proc/self/mounts")
			require.NoError(t, err)
			assert.NotContains(t, string(mounts), dir)
			processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, p := range processes {
				line, _ := os.ReadFile(p)
				assert.False(t, strings.Contains(string(line), dir), "%s is left: %q", p, line)
			}
		})
	}
}

func life(t *testing.T, version e2e.Version) string {
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
	return c.Dir
}
