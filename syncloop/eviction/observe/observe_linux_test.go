package observe_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/eviction/observe"
)

// proc writes a procfs with these files.
func proc(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func machineFiles() map[string]string {
	return map[string]string{
		"meminfo":                "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    900 kB\nInactive(file):  200 kB\nHugePages_Total:  5\n",
		"loadavg":                "0.00 0.01 0.05 1/300 12345\n",
		"sys/kernel/pid_max":     "32768\n",
		"sys/kernel/threads-max": "1000\n",
	}
}

// TestHost_ReadSignals: memory is the free memory and the inactive file cache; process IDs are the smaller limit less
// the running ones; images without a directory share the disk.
func TestHost_ReadSignals(t *testing.T) {
	now := time.Unix(100, 0)
	h := observe.NewHost(observe.HostConfig{NodeDirectory: t.TempDir(), Proc: proc(t, machineFiles()), Clock: clocktesting.NewFakePassiveClock(now)})
	o, err := h.ReadSignals(t.Context())
	require.NoError(t, err)
	assert.Equal(t, eviction.Observation{Available: 300 << 10, Capacity: 1000 << 10, Time: now}, o.Signals[eviction.MemoryAvailable])
	assert.Equal(t, eviction.Observation{Available: 700, Capacity: 1000, Time: now}, o.Signals[eviction.PIDAvailable])
	assert.Equal(t, eviction.OneFilesystem, o.Layout)
	for _, s := range []eviction.Signal{eviction.NodeFsAvailable, eviction.NodeFsInodesFree} {
		assert.Positive(t, o.Signals[s].Capacity, s)
		assert.LessOrEqual(t, o.Signals[s].Available, o.Signals[s].Capacity, s)
	}
	assert.Equal(t, o.Signals[eviction.NodeFsAvailable], o.Signals[eviction.ImageFsAvailable])
}

// TestHost_DedicatedImages: another device has images of its own. The directory is asked for until it is known.
func TestHost_DedicatedImages(t *testing.T) {
	asked, answer := 0, ""
	h := observe.NewHost(observe.HostConfig{NodeDirectory: t.TempDir(), ImageDirectory: func(context.Context) (string, error) {
		asked++
		if answer == "" {
			return "", errors.New("not connected")
		}
		return answer, nil
	}})
	o, err := h.ReadSignals(t.Context())
	require.ErrorContains(t, err, "not connected")
	assert.Equal(t, eviction.OneFilesystem, o.Layout)
	assert.Contains(t, o.Signals, eviction.MemoryAvailable)
	assert.Contains(t, o.Signals, eviction.NodeFsAvailable)
	assert.NotContains(t, o.Signals, eviction.ImageFsAvailable, "another file system would meet the threshold of images")
	assert.NotContains(t, o.Signals, eviction.ImageFsInodesFree)
	answer = "/proc"
	for range 2 {
		o, err = h.ReadSignals(t.Context())
		require.NoError(t, err)
		assert.Equal(t, eviction.DedicatedImages, o.Layout)
	}
	assert.Equal(t, 2, asked)
}

// TestHost_MissingFiles: each signal that cannot be measured is absent, and the error names every file.
func TestHost_MissingFiles(t *testing.T) {
	h := observe.NewHost(observe.HostConfig{NodeDirectory: filepath.Join(t.TempDir(), "absent"), Proc: t.TempDir()})
	o, err := h.ReadSignals(t.Context())
	assert.Empty(t, o.Signals)
	for _, name := range []string{"meminfo", "pid_max", "absent"} {
		assert.ErrorContains(t, err, name)
	}
	for name, text := range map[string]string{"meminfo": "MemTotal: 5 kB\n", "loadavg": "1 2", "sys/kernel/pid_max": "many"} {
		files := machineFiles()
		files[name] = text
		_, err := observe.NewHost(observe.HostConfig{NodeDirectory: t.TempDir(), Proc: proc(t, files)}).ReadSignals(t.Context())
		assert.ErrorContains(t, err, filepath.Base(name))
	}
}

// TestFiles_ReadStorage: an emptyDir and the logs have the size of their files. A symbolic link is not followed, and a
// file with two names counts once. The result is used again for a minute.
func TestFiles_ReadStorage(t *testing.T) {
	volumes, logs, outside := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(name string, kibibytes int) {
		require.NoError(t, os.WriteFile(name, make([]byte, kibibytes<<10), 0o600))
	}
	write(filepath.Join(volumes, "a"), 100)
	require.NoError(t, os.Link(filepath.Join(volumes, "a"), filepath.Join(volumes, "b")))
	write(filepath.Join(outside, "large"), 1000)
	require.NoError(t, os.Symlink(filepath.Join(outside, "large"), filepath.Join(volumes, "link")))
	write(filepath.Join(logs, "0.log"), 50)
	clock := clocktesting.NewFakePassiveClock(time.Unix(100, 0))
	f := observe.NewFiles(observe.FilesConfig{
		VolumeDirectory: func(_ *v1.Pod, v *v1.Volume) string { return volumes },
		LogDirectory: func(_ *v1.Pod, container string) string {
			if container == "main" {
				return logs
			}
			return filepath.Join(logs, "absent")
		},
		Clock: clock,
	})
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a"}}
	pod.Spec.Containers = []v1.Container{{Name: "main"}, {Name: "silent"}}
	pod.Spec.Volumes = []v1.Volume{
		{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: "memory", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}},
		{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: outside}}},
	}
	storage, err := f.ReadStorage(t.Context(), pod)
	require.NoError(t, err)
	require.Len(t, storage.Volumes, 1)
	assert.Equal(t, "data", storage.Volumes[0].Name)
	assert.InDelta(t, 104<<10, *storage.Volumes[0].Bytes, 16<<10)
	assert.EqualValues(t, 3, *storage.Volumes[0].Inodes)
	assert.InDelta(t, 54<<10, *storage.Logs["main"].Bytes, 16<<10)
	assert.Zero(t, *storage.Logs["silent"].Bytes)
	write(filepath.Join(volumes, "c"), 100)
	again, err := f.ReadStorage(t.Context(), pod)
	require.NoError(t, err)
	assert.Equal(t, storage, again)
	clock.SetTime(time.Unix(160, 0))
	later, err := f.ReadStorage(t.Context(), pod)
	require.NoError(t, err)
	assert.InDelta(t, 204<<10, *later.Volumes[0].Bytes, 16<<10)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = observe.NewFiles(observe.FilesConfig{LogDirectory: func(*v1.Pod, string) string { return logs }}).ReadStorage(ctx, pod)
	require.ErrorIs(t, err, context.Canceled)
}

// endingContext ends after a number of calls of Err.
type endingContext struct {
	context.Context
	calls int
}

// Err implements context.Context.
func (c *endingContext) Err() error {
	if c.calls == 0 {
		return context.Canceled
	}
	c.calls--
	return nil
}

// TestFiles_LimitedFirst: a volume without a limit that takes all the time hides neither a volume with a limit nor the
// logs.
func TestFiles_LimitedFirst(t *testing.T) {
	root := t.TempDir()
	for i := range 100 {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "pods", "u1", "volumes", "scratch", strconv.Itoa(i)), 0o755))
	}
	for _, name := range []string{"pods/u1/volumes/cache", "ns_web_u1/c"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name, "data"), make([]byte, 100<<10), 0o600))
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u1"}, Spec: v1.PodSpec{
		Containers: []v1.Container{{Name: "c"}},
		Volumes: []v1.Volume{
			{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
			{Name: "cache", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(1, resource.BinarySI)}}},
		},
	}}
	files := observe.NewFiles(observe.FilesConfig{VolumeDirectory: observe.VolumeDirectory(root), LogDirectory: observe.LogDirectory(root)})
	storage, err := files.ReadStorage(&endingContext{t.Context(), 50}, pod)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, storage.Volumes, 2)
	assert.Equal(t, "cache", storage.Volumes[0].Name)
	assert.InDelta(t, 104<<10, *storage.Volumes[0].Bytes, 16<<10)
	assert.InDelta(t, 104<<10, *storage.Logs["c"].Bytes, 16<<10)
	assert.Less(t, *storage.Volumes[1].Inodes, uint64(100))
}

// TestFiles_ErrorIsKept: a pod that could not be measured is not walked again in the next pass.
func TestFiles_ErrorIsKept(t *testing.T) {
	logs := t.TempDir()
	clock := clocktesting.NewFakePassiveClock(time.Unix(100, 0))
	f := observe.NewFiles(observe.FilesConfig{LogDirectory: func(*v1.Pod, string) string { return logs }, Clock: clock})
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a"}}
	pod.Spec.Containers = []v1.Container{{Name: "main"}}
	timedOut, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		_, err := f.ReadStorage(timedOut, pod)
		require.ErrorIs(t, err, context.Canceled)
	}
	_, err := f.ReadStorage(t.Context(), pod)
	require.ErrorIs(t, err, context.Canceled, "within a minute")
	clock.SetTime(time.Unix(160, 0))
	_, err = f.ReadStorage(t.Context(), pod)
	require.NoError(t, err)
}

// TestFiles_GoesOnAfterAnError: a directory that cannot be read leaves lower bounds, and the other directories of the pod
// are measured.
func TestFiles_GoesOnAfterAnError(t *testing.T) {
	logs := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(logs, "0.log"), make([]byte, 50<<10), 0o600))
	f := observe.NewFiles(observe.FilesConfig{
		VolumeDirectory: func(*v1.Pod, *v1.Volume) string { return "no\x00directory" },
		LogDirectory:    func(*v1.Pod, string) string { return logs },
	})
	pod := &v1.Pod{}
	pod.Spec.Containers = []v1.Container{{Name: "main"}}
	pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	for range 2 { // The second result is the stored one.
		storage, err := f.ReadStorage(t.Context(), pod)
		require.Error(t, err)
		assert.Zero(t, *storage.Volumes[0].Bytes)
		assert.InDelta(t, 54<<10, *storage.Logs["main"].Bytes, 16<<10)
	}
}
