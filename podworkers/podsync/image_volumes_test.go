package podsync_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// withImageVolume is a pod whose container mounts an image.
func withImageVolume(p *v1.Pod) {
	p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "data:1"}}}}
	p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/data", SubPath: "a"}}
}

// making is a machine that shows the requests to it, and which of some images may not be removed while
// a container is created.
type making struct {
	*memory.Runtime
	manager *images.Manager
	leased  map[string]bool
	pulls   []runtime.PullImageRequest
	created []runtime.CreateContainerRequest
	pulling func() // is called in each pull, which fails then with the error of its context; nil: no pull fails
}

func (m *making) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	m.pulls = append(m.pulls, req)
	if m.pulling != nil {
		m.pulling()
		return "", ctx.Err()
	}
	return m.Runtime.PullImage(ctx, req)
}

func (m *making) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	m.created = append(m.created, req)
	m.leased = m.leasedImages(ctx)
	return m.Runtime.CreateContainer(ctx, req)
}

func (m *making) leasedImages(ctx context.Context) map[string]bool {
	leased := map[string]bool{}
	list, _ := m.Runtime.ListImages(ctx)
	for _, image := range list {
		leased[image.Tags[0]] = m.manager.InUse(image)
	}
	return leased
}

// asked is a Keyring that records the images of its calls.
type asked struct{ images []string }

func (k *asked) Credentials(_ context.Context, image string, pod *v1.Pod, secrets []v1.Secret) ([]runtime.Auth, error) {
	k.images = append(k.images, image)
	return []runtime.Auth{{Username: pod.Name}}, nil
}

// The image of a volume is pulled with the credentials of the pod, on behalf of no container, and
// cannot be removed until the record of the container keeps it. The container gets it as the runtime
// names it, read-only.
func TestVolumeImages_LeasedAndPulledForThePod(t *testing.T) {
	m, keys := &making{Runtime: memory.New(memory.Config{})}, &asked{}
	var err error
	m.manager, err = images.New(images.Config{Images: m})
	require.NoError(t, err)
	s, _ := newQuietSyncer(t, m, func(c *podsync.Config) {
		c.Volumes, c.Images, c.Keyring = inmemory.New(inmemory.Config{}), m.manager, keys
	})
	_, err = s.SyncPod(t.Context(), podworkers.SyncPodUpdate, plainPod(withImageVolume), nil, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"data:1", "img:1"}, keys.images)
	require.Len(t, m.pulls, 2)
	auth := &runtime.Auth{Username: "web"}
	ref := runtime.PodRef{UID: "u", Name: "web", Namespace: "ns", Incarnation: 1}
	assert.Equal(t, runtime.PullImageRequest{Image: "data:1", Pod: ref, Volume: "v", Auth: auth}, m.pulls[0])
	assert.Equal(t, runtime.PullImageRequest{Image: "img:1", Pod: ref, Container: "a", Auth: auth}, m.pulls[1])
	data, err := m.ImageStatus(t.Context(), runtime.ImageStatusRequest{Image: "data:1"})
	require.NoError(t, err)
	require.Len(t, m.created, 1)
	assert.Equal(t, []runtime.Mount{{ContainerPath: "/data", Image: data.ID, ImageSubPath: "a", ReadOnly: true}}, m.created[0].Mounts)
	assert.Equal(t, map[string]bool{"data:1": true, "img:1": true}, m.leased)
	assert.Equal(t, map[string]bool{"data:1": false, "img:1": false}, m.leasedImages(t.Context()))
}

// A sync that ends while the image of a volume is pulled is cut short: that is no failure of the pull, and
// nothing more of the pod is begun.
func TestVolumeImages_CutShort(t *testing.T) {
	m := &making{Runtime: memory.New(memory.Config{})}
	var err error
	m.manager, err = images.New(images.Config{Images: m})
	require.NoError(t, err)
	s, st := newQuietSyncer(t, m, func(c *podsync.Config) { c.Volumes, c.Images = inmemory.New(inmemory.Config{}), m.manager })
	ctx, cancel := context.WithCancel(t.Context())
	m.pulling = cancel
	pod := plainPod(withImageVolume)
	_, err = s.SyncPod(ctx, podworkers.SyncPodUpdate, pod, nil, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, m.pulls, 1)
	assert.Equal(t, "data:1", m.pulls[0].Image)
	assert.Empty(t, m.created)
	status, _ := st.GetPodStatus(pod.UID)
	assert.Equal(t, "ContainerCreating", status.ContainerStatuses[0].State.Waiting.Reason)
	assert.Equal(t, map[string]bool{}, m.leasedImages(t.Context()))
}

// A pod with an image volume is rejected where the runtime mounts no images, and one that mounts a part
// of it where the runtime mounts whole images only.
func TestFeatures_ImageMounts(t *testing.T) {
	for _, c := range []struct {
		rt   runtime.Runtime
		want []string
	}{
		{struct{ runtime.Runtime }{memory.New(memory.Config{})}, []string{"spec.volumes[0].image"}},
		{mounts{memory.New(memory.Config{}), runtime.ImageMountsNone}, []string{"spec.volumes[0].image"}},
		{mounts{memory.New(memory.Config{}), runtime.ImageMountsWhole}, []string{"spec.containers[0].volumeMounts[0].subPath"}},
		{mounts{memory.New(memory.Config{}), runtime.ImageMountsUnknown}, nil},
		{memory.New(memory.Config{}), nil},
	} {
		s, _ := newQuietSyncer(t, c.rt, func(config *podsync.Config) { config.Volumes = inmemory.New(inmemory.Config{}) })
		rejected, _ := podsync.Unsupported(plainPod(withImageVolume), s.Features())
		assert.Equal(t, c.want, problemFields(rejected))
	}
}

// mounts is a runtime that mounts some images.
type mounts struct {
	runtime.Runtime
	can runtime.ImageMounts
}

func (m mounts) Features() runtime.Features { return runtime.Features{ImageMounts: m.can} }

// TestSyncPod_CS15_RecursiveReadOnly: the status says that the mounts below a read-only mount are read-only if the handler
// of the pod's class supports that. A class that is not known and a panic of RuntimeClass mean that it does not.
func TestSyncPod_CS15_RecursiveReadOnly(t *testing.T) {
	for class, want := range map[string]v1.RecursiveReadOnlyMode{
		"": v1.RecursiveReadOnlyEnabled, "fast": v1.RecursiveReadOnlyEnabled, "kata": v1.RecursiveReadOnlyDisabled,
		"unknown": v1.RecursiveReadOnlyDisabled, "panic": v1.RecursiveReadOnlyDisabled,
	} {
		rt := recursive{memory.New(memory.Config{}), map[string]bool{"": true, "runc-fast": true, "kata": false}}
		syncer, store := newQuietSyncer(t, rt, func(c *podsync.Config) {
			c.Volumes, c.Handlers = inmemory.New(inmemory.Config{}), map[string]string{"fast": "runc-fast"}
			c.RuntimeClass = func(class string) (string, bool) {
				if class == "panic" {
					panic(class)
				}
				return class, class == "kata"
			}
		})
		pod := plainPod(func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
			p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/v", ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyIfPossible)}}
			if class != "" {
				p.Spec.RuntimeClassName = &class
			}
		})
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodUpdate, pod, nil, nil)
		assert.Equal(t, class == "unknown" || class == "panic", err != nil, "%s: %v", class, err)
		status, found := store.GetPodStatus(pod.UID)
		require.True(t, found, class)
		assert.Equal(t, []v1.VolumeMountStatus{{Name: "v", MountPath: "/v", ReadOnly: true, RecursiveReadOnly: &want}}, status.ContainerStatuses[0].VolumeMounts, class)
	}
}

// recursive is a runtime with handlers that support recursive read-only mounts.
type recursive struct {
	runtime.Runtime
	handlers map[string]bool
}

func (r recursive) Features() runtime.Features {
	return runtime.Features{RecursiveReadOnly: r.handlers}
}
