//go:build unix

package volumes_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
)

// An error of a file has no path of the host, and no read waits.
func TestReadVolumeFile_F28_F31_Errors(t *testing.T) {
	root := t.TempDir()
	dir, err := volumes.New(volumes.Config{Root: root})
	require.NoError(t, err)
	pod := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{
		{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: "d", VolumeSource: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{}}},
	}}}
	pod.Name, pod.Namespace, pod.UID = "p", "ns", "u"
	read := func(volume, path string) error {
		_, _, err := dir.ReadVolumeFile(t.Context(), pod, volume, path, 1)
		return err
	}
	assert.EqualError(t, read("v", "f"), "it cannot be read: file does not exist", "it is not set up")
	require.NoError(t, dir.SetUp(t.Context(), pod))
	at := filepath.Join(root, "pods", "u", "volumes", "v")
	require.NoError(t, syscall.Mkfifo(filepath.Join(at, "fifo"), 0o600))
	require.NoError(t, os.Symlink("loop", filepath.Join(at, "loop")))
	for path, want := range map[string]string{
		"f": "it cannot be read: file does not exist", "fifo": "it cannot be read: not a regular file: a FIFO",
		"loop": "it cannot be read: too many levels of symbolic links", "..data/f": `no usable path: "..data/f" begins with '..'`,
		"../v/f": `no usable path: "../v/f" has '..'`, "/f": `no usable path: "/f" is not relative, or has a backslash`,
	} {
		assert.EqualError(t, read("v", path), want)
	}
	assert.EqualError(t, read("w", "f"), `the pod has no volume "w"`)
	assert.EqualError(t, read("d", "f"), "the volume is of the kind downwardAPI: files are read in emptyDir volumes only")
}
