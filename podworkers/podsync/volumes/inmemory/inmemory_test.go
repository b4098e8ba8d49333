package inmemory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime"
)

func configured() *v1.Pod {
	pod := &v1.Pod{Spec: v1.PodSpec{
		Volumes: []v1.Volume{
			{Name: "cfg", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "m"}}}},
			{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/srv"}}},
		},
		Containers: []v1.Container{{Name: "c", VolumeMounts: []v1.VolumeMount{
			{Name: "cfg", MountPath: "/etc/cfg"}, {Name: "host", MountPath: "/srv", SubPathExpr: "$(X)"},
		}}},
	}}
	pod.UID, pod.Namespace = "u", "ns"
	return pod
}

// A pod waits for an object in memory as it does on a disk.
func TestSetUp_Missing(t *testing.T) {
	v := inmemory.New(inmemory.Config{})
	err := v.SetUp(context.Background(), configured())
	assert.ErrorIs(t, err, runtime.ErrNotFound)
	assert.EqualError(t, err, `inmemory: volume "cfg": there is no ConfigMap ns/m: runtime: not found`)
}

// tokens is a podsync.Tokens whose tokens show their arguments.
type tokens struct{ err error }

func (s tokens) Token(_ context.Context, pod *v1.Pod, audience string, seconds int64) (string, error) {
	return fmt.Sprint(pod.Spec.ServiceAccountName, audience, seconds), s.err
}

// TestTokens: a pod that projects a token needs a node that has some.
func TestTokens(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{ServiceAccountName: "sa", Volumes: []v1.Volume{{Name: "t", VolumeSource: v1.VolumeSource{
		Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token"}}}},
	}}}}}
	pod.UID, pod.Namespace = "u", "ns"
	none := inmemory.New(inmemory.Config{})
	assert.Equal(t, []podsync.Problem{{Field: "spec.volumes[0].projected.sources[0].serviceAccountToken", Why: "is not supported"}}, none.Problems(pod))
	assert.Error(t, none.SetUp(t.Context(), pod))
	have := inmemory.New(inmemory.Config{Tokens: tokens{}})
	assert.Empty(t, have.Problems(pod))
	assert.NoError(t, have.SetUp(t.Context(), pod))
	fail := inmemory.New(inmemory.Config{Tokens: tokens{errors.New("no answer")}})
	assert.EqualError(t, fail.SetUp(t.Context(), pod), `inmemory: a token of the service account "sa": no answer`)
}

func TestMounts(t *testing.T) {
	v, pod := inmemory.New(inmemory.Config{Root: "/x"}), configured()
	mounts, err := v.Mounts(context.Background(), pod, &pod.Spec.Containers[0], func(string) (string, error) { return "a/b", nil })
	require.NoError(t, err)
	assert.Equal(t, []runtime.Mount{
		{ContainerPath: "/etc/cfg", HostPath: "/x/pods/u/volumes/cfg", ReadOnly: true},
		{ContainerPath: "/srv", HostPath: "/srv/a/b"},
	}, mounts)
	cause := errors.New("no such variable")
	_, err = v.Mounts(context.Background(), pod, &pod.Spec.Containers[0], func(string) (string, error) { return "", cause })
	assert.ErrorIs(t, err, cause)
}

func TestFiles(t *testing.T) {
	v, pod := inmemory.New(inmemory.Config{}), configured()
	path, err := v.Hosts(pod, []string{"10.0.0.9"}, []string{"p"})
	require.NoError(t, err)
	assert.Equal(t, "/inmemory/pods/u/etc-hosts", path)
	pod.Spec.HostAliases = []v1.HostAlias{{IP: "x"}}
	_, err = v.Hosts(pod, nil, nil)
	assert.EqualError(t, err, `inmemory: spec.hostAliases[0]: "x" is no address`)

	path, err = v.TerminationLog(pod, "c", 3)
	require.NoError(t, err)
	assert.Equal(t, "/inmemory/pods/u/containers/c/3", path)
	text, err := v.ReadTerminationLog("u", "c", 3, 10)
	require.NoError(t, err)
	assert.Empty(t, text)
	v.WriteTerminationLog("u", "c", 3, "good bye", nil)
	text, _ = v.ReadTerminationLog("u", "c", 3, 3)
	assert.Equal(t, "bye", string(text))
	require.NoError(t, v.TearDown(context.Background(), "u"))
	text, _ = v.ReadTerminationLog("u", "c", 3, 10)
	assert.Empty(t, text)
}
