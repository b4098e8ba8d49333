package volumes_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	"github.com/podkeel/podkeel/runtime"
)

// claims is a podsync.Claims. It returns a directory for each claim, as a local volume unless the name
// of the claim requires a hostPath or an error.
type claims struct {
	dir string
	err error
}

func (c claims) Source(_ context.Context, _ *v1.Pod, v *v1.Volume) (*v1.PersistentVolumeSource, bool, error) {
	source := &v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: c.dir}}
	switch v.Name {
	case "path":
		source = &v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: c.dir}}
	case "nfs":
		source = &v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{}}
	}
	return source, v.PersistentVolumeClaim.ReadOnly, c.err
}

// The volume of a claim is mounted from its own path, read-only if the claim requires that. It stays
// when the pod is torn down.
func TestClaims(t *testing.T) {
	root, disk := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(disk, "part"), 0o700))
	claim := func(name string, readOnly bool) v1.Volume {
		return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name, ReadOnly: readOnly}}}
	}
	pod := &v1.Pod{Spec: v1.PodSpec{
		Volumes: []v1.Volume{claim("data", false), claim("fixed", true), {Name: "scratch"}},
		Containers: []v1.Container{{Name: "c", VolumeMounts: []v1.VolumeMount{
			{Name: "data", MountPath: "/data"}, {Name: "fixed", MountPath: "/fixed"}, {Name: "scratch", MountPath: "/tmp"},
		}}},
	}}
	pod.Namespace, pod.Name, pod.UID = "ns", "db", "u"
	before := pod.DeepCopy()
	open := func(c claims) *volumes.Dir {
		d, err := volumes.New(volumes.Config{Root: root, Claims: c})
		require.NoError(t, err)
		assert.Empty(t, d.Problems(pod))
		return d
	}
	bad := errors.New("it is not bound")
	d := open(claims{disk, bad})
	assert.EqualError(t, d.SetUp(t.Context(), pod), `volumes: volume "data": it is not bound`)
	_, err := d.Mounts(t.Context(), pod, &pod.Spec.Containers[0], nil)
	assert.ErrorIs(t, err, bad)
	assert.ErrorContains(t, open(claims{filepath.Join(disk, "gone"), nil}).SetUp(t.Context(), pod), `volumes: volume "data": hostPath: `)

	d = open(claims{disk, nil})
	require.NoError(t, d.SetUp(t.Context(), pod))
	mounts, err := d.Mounts(t.Context(), pod, &pod.Spec.Containers[0], nil)
	require.NoError(t, err)
	assert.Equal(t, []runtime.Mount{
		{ContainerPath: "/data", HostPath: disk},
		{ContainerPath: "/fixed", HostPath: disk, ReadOnly: true},
		{ContainerPath: "/tmp", HostPath: filepath.Join(root, "pods/u/volumes/scratch")},
	}, mounts)
	assert.Equal(t, before, pod)
	require.NoError(t, d.TearDown(t.Context(), "u"))
	assert.DirExists(t, filepath.Join(disk, "part"))
}
