package statedir_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/node/statedir"
)

// TestOpen: Open creates the directory, locks it until Close, and changes nothing in a locked one.
func TestOpen(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a", "b")
	first, err := statedir.Open(statedir.Config{Root: root})
	require.NoError(t, err)
	_, err = statedir.Open(statedir.Config{Root: root})
	require.ErrorIs(t, err, statedir.ErrLocked)
	assert.EqualError(t, err, "statedir: cannot lock "+root+": another agent uses it")
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	assert.Empty(t, entries)
	require.NoError(t, first.Close())
	require.NoError(t, first.Close(), "a second time")
	second, err := statedir.Open(statedir.Config{Root: root})
	require.NoError(t, err)
	assert.Equal(t, root, second.Root())
	assert.Equal(t, filepath.Join(root, "logs"), second.Path("logs"))
	require.NoError(t, second.Close())
}

// TestOpen_Invalid: each error names the directory.
func TestOpen_Invalid(t *testing.T) {
	_, err := statedir.Open(statedir.Config{})
	require.EqualError(t, err, "statedir: cannot create the state directory: Config.Root is empty")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = statedir.Open(statedir.Config{Root: filepath.Join(file, "state")})
	require.ErrorContains(t, err, file)
}

// TestDir_Configure: the stores are in the directories of the package comment. A volume manager of the caller stays.
func TestDir_Configure(t *testing.T) {
	dir, err := statedir.Open(statedir.Config{Root: t.TempDir()})
	require.NoError(t, err)
	defer dir.Close()
	var c node.Config
	require.NoError(t, dir.Configure(&c))
	pods, err := dir.Pods()
	require.NoError(t, err)
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "default", "a", "u1"
	require.NoError(t, pods.Save(pod))
	require.NoError(t, c.Pods.TerminalStatuses.Save(pod, &v1.PodStatus{Phase: v1.PodFailed}))
	require.NoError(t, c.Volumes.Manager.SetUp(t.Context(), pod))
	for _, file := range []string{"desired/u1.json", "ended/u1.json", "containers", "resources", "pods/u1"} {
		_, err := os.Stat(dir.Path(file))
		assert.NoError(t, err)
	}
	own := inmemory.New(inmemory.Config{})
	c = node.Config{Volumes: node.VolumesConfig{Manager: own}}
	require.NoError(t, dir.Configure(&c))
	assert.Same(t, own, c.Volumes.Manager)
	assert.Nil(t, c.Volumes.Files)
}

// TestDir_ConfigureUnusable: a file in the place of a store's directory is an error that names it.
func TestDir_ConfigureUnusable(t *testing.T) {
	for _, name := range []string{"ended", "containers", "resources"} {
		dir, err := statedir.Open(statedir.Config{Root: t.TempDir()})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(dir.Path(name), nil, 0o600))
		require.ErrorContains(t, dir.Configure(&node.Config{}), dir.Path(name))
		require.NoError(t, dir.Close())
	}
}

// images reports where a runtime has its images.
type images struct{ asked int }

func (i *images) ImageFilesystem(context.Context) (runtime.FilesystemUsage, error) {
	i.asked++
	return runtime.FilesystemUsage{Directory: os.TempDir()}, nil
}

// TestDir_ConfigureEviction: the thresholds are the kubelet's, and the directory of the images is the runtime's.
func TestDir_ConfigureEviction(t *testing.T) {
	dir, err := statedir.Open(statedir.Config{Root: t.TempDir()})
	require.NoError(t, err)
	defer dir.Close()
	c := node.Config{Logs: node.LogsConfig{Root: dir.Path("logs")}}
	runtime := &images{}
	require.NoError(t, dir.ConfigureEviction(&c, runtime))
	var signals []eviction.Signal
	for _, threshold := range c.Eviction.Policy.Thresholds {
		signals = append(signals, threshold.Signal)
	}
	for _, want := range []eviction.Signal{eviction.MemoryAvailable, eviction.NodeFsAvailable, eviction.ImageFsAvailable} {
		assert.True(t, slices.Contains(signals, want), want)
	}
	observed, err := c.Eviction.Signals.ReadSignals(t.Context())
	if err != nil {
		t.Skip("this system measures no signals: ", err)
	}
	assert.Positive(t, observed.Signals[eviction.MemoryAvailable].Capacity)
	assert.Equal(t, 1, runtime.asked)
}
