package volumes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/osfile"
)

// limitedDisk is a directory on a file system that has room for so many files, or a skip.
func limitedDisk(t *testing.T, files int) string {
	asRoot(t)
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprint("nr_inodes=", files)); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	return disk
}

// fill makes files in a directory until there is no room.
func fill(t *testing.T, dir string) {
	for i := 0; ; i++ {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint("ballast-", i)))
		if err != nil {
			require.True(t, osfile.IsDiskFull(err), "%v", err)
			return
		}
		require.NoError(t, f.Close())
	}
}

// A disk that the volume of a pod has filled is emptied by the removal of the pod: that needs no
// room itself.
func TestTearDown_FullDisk(t *testing.T) {
	root := limitedDisk(t, 64)
	d, err := New(Config{Root: root})
	require.NoError(t, err)
	pod := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{
		{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: "memory", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}},
	}}}
	pod.Namespace, pod.Name, pod.UID = "default", "greedy", "u"
	require.NoError(t, d.SetUp(t.Context(), pod))
	fill(t, filepath.Join(root, "pods", "u", "volumes", "data"))
	other := pod.DeepCopy()
	other.Name, other.UID = "other", "v"
	assert.True(t, osfile.IsDiskFull(d.SetUp(t.Context(), other)))

	require.NoError(t, d.TearDown(t.Context(), "u"))
	assert.NoDirExists(t, filepath.Join(root, "pods", "u"))
	require.NoError(t, d.SetUp(t.Context(), other))
	require.NoError(t, d.TearDown(t.Context(), "v"))
}

// The file that names the owner of a directory was cut short: the data of the pod stay. The data of another pod still
// belong to that pod.
func TestSetUp_TheNoteIsCutShort(t *testing.T) {
	for said, stays := range map[string]bool{
		"default/web-1\n": true, "default/web-1": true, "default/we": true, "d": true, "": true,
		"default/web\n": false, "default/other": false, "default/web-12\n": false,
	} {
		t.Run(fmt.Sprintf("%q", said), func(t *testing.T) {
			root := t.TempDir()
			d, err := New(Config{Root: root})
			require.NoError(t, err)
			pod := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}}}
			pod.Namespace, pod.Name, pod.UID = "default", "web-1", "u"
			require.NoError(t, d.SetUp(t.Context(), pod))
			at := filepath.Join(root, "pods", "u")
			file := filepath.Join(at, "volumes", "data", "file")
			require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(at, ownerFile), []byte(said), 0o600))
			require.NoError(t, d.SetUp(t.Context(), pod))
			_, err = os.Stat(file)
			assert.Equal(t, stays, !errors.Is(err, os.ErrNotExist))
			note, err := os.ReadFile(filepath.Join(at, ownerFile))
			require.NoError(t, err)
			assert.Contains(t, []string{"default/web-1\n", "default/web-1"}, string(note))
		})
	}
}
