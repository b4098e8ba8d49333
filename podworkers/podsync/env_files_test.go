package podsync_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime/memory"
)

// fromFile is a pod with a variable from a file.
func fromFile(p *v1.Pod) {
	p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "A", ValueFrom: &v1.EnvVarSource{FileKeyRef: &v1.FileKeySelector{VolumeName: "v", Path: "f", Key: "K"}}}}
}

// A pod with a variable from a file is rejected if the Volumes cannot read files.
func TestFeatures_VolumeFiles(t *testing.T) {
	for _, c := range []struct {
		volumes podsync.Volumes
		want    []string
	}{
		{nil, []string{"spec.volumes", "spec.containers[0].env[0].valueFrom.fileKeyRef"}},
		{struct{ podsync.Volumes }{inmemory.New(inmemory.Config{})}, []string{"spec.containers[0].env[0].valueFrom.fileKeyRef"}},
		{inmemory.New(inmemory.Config{}), nil},
	} {
		s, _ := newQuietSyncer(t, memory.New(memory.Config{}), func(config *podsync.Config) { config.Volumes = c.volumes })
		rejected, _ := podsync.Unsupported(plainPod(fromFile), s.Features())
		assert.Equal(t, c.want, problemFields(rejected))
	}
}

// panickyFiles panics where a file is read.
type panickyFiles struct{ *inmemory.Volumes }

func (panickyFiles) ReadVolumeFile(context.Context, *v1.Pod, string, string, int) ([]byte, bool, error) {
	panic("no files")
}

// I50: a panic of a VolumeFileReader is the error of the container.
func TestVolumeFiles_I50_Panic(t *testing.T) {
	var told []string
	mem := memory.New(memory.Config{})
	s, st := newQuietSyncer(t, mem, func(c *podsync.Config) {
		c.Volumes = panickyFiles{inmemory.New(inmemory.Config{})}
		c.Hooks.Panicked = func(call string, _ error) { told = append(told, call) }
	})
	st.write = func(string) {}
	pod := plainPod(fromFile)
	_, err := s.SyncPod(t.Context(), podworkers.SyncPodUpdate, pod, nil, readPodStatus(t, mem))
	require.ErrorContains(t, err, "container a: variable A: the file f of volume v: ")
	assert.Equal(t, []string{"Volumes.ReadVolumeFile"}, told)
	status, _ := st.GetPodStatus(pod.UID)
	assert.Equal(t, "CreateContainerConfigError", status.ContainerStatuses[0].State.Waiting.Reason)
}
