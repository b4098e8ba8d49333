package cri_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criv1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// kubeletContainer creates a container as a kubelet does: without an owner. It mounts an image.
func kubeletContainer(t *testing.T, s *fakeServer, image, mounted string) string {
	t.Helper()
	for _, name := range []string{image, mounted} {
		_, err := s.m.PullImage(t.Context(), runtime.PullImageRequest{Image: name})
		require.NoError(t, err)
	}
	metadata := &criv1.PodSandboxMetadata{Name: "kube-proxy", Namespace: "kube-system", Uid: "k"}
	sandbox, err := s.RunPodSandbox(t.Context(), &criv1.RunPodSandboxRequest{Config: &criv1.PodSandboxConfig{Metadata: metadata}})
	require.NoError(t, err)
	container, err := s.CreateContainer(t.Context(), &criv1.CreateContainerRequest{
		PodSandboxId: sandbox.PodSandboxId, SandboxConfig: &criv1.PodSandboxConfig{Metadata: metadata},
		Config: &criv1.ContainerConfig{
			Metadata: &criv1.ContainerMetadata{Name: "main"}, Image: &criv1.ImageSpec{Image: image},
			Labels: map[string]string{"io.kubernetes.pod.uid": "k"},
			Mounts: []*criv1.Mount{{ContainerPath: "/rules", Readonly: true, Image: &criv1.ImageSpec{Image: mounted}}},
		},
	})
	require.NoError(t, err)
	return container.ContainerId
}

// I38: the images of another agent's containers and of a kubelet's are in use, running or not. An image that a
// container mounts is in use too.
func TestListUsedImages_I38_OfAllOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		me, you := s.client("me"), s.client("you")
		_, container := running(t, you, web)
		require.NoError(t, stop(t, you, container, 0))
		kubeletContainer(t, s, "proxy:1", "rules:1")
		used, err := me.ListUsedImages(t.Context())
		require.NoError(t, err)
		for _, name := range []string{"busybox", "proxy:1", "rules:1"} {
			assert.True(t, slices.Contains(used, name), "%s in %v", name, used)
		}
	})
}

// A container that is removed between the list and its inspection uses nothing; after any other
// error, and while the runtime is not ready, nothing is known.
func TestListUsedImages_I38_Errors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		me := s.client("me")
		kubeletContainer(t, s, "proxy:1", "rules:1")
		s.fails("ContainerStatus", status.Error(codes.NotFound, "gone"))
		used, err := me.ListUsedImages(t.Context())
		require.NoError(t, err)
		assert.Empty(t, used)
		for _, verb := range []string{"ContainerStatus", "ListContainers", "Status"} {
			s.fails(verb, status.Error(codes.Internal, "broken"))
			_, err = me.ListUsedImages(t.Context())
			require.ErrorContains(t, err, "broken", verb)
		}
	})
}

// The image of sandboxes, which no list shows, is in use if the runtime tells which it is.
func TestListUsedImages_I38_SandboxImage(t *testing.T) {
	for info, want := range map[string][]string{
		`{"containerd": {}, "sandboxImage": "pause:3.6"}`: {"pause:3.6"}, `{"sandboxImage": ""}`: nil, `{`: nil, "": nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newFake(t)
			s.onAfter(func(method string, _, res any) (any, error) {
				if status, ok := res.(*criv1.StatusResponse); ok && method == "Status" {
					status.Info = map[string]string{"config": info}
				}
				return res, nil
			})
			used, err := s.client("me").ListUsedImages(t.Context())
			require.NoError(t, err)
			assert.Equal(t, want, used)
		})
	}
}
