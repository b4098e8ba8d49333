package runtime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPodStatus_SortAndPod: the records are in the promised order, and a list has all of them.
func TestPodStatus_SortAndPod(t *testing.T) {
	container := func(name string, attempt uint32, created int64) ContainerStatus {
		return ContainerStatus{Container: Container{Name: name, Attempt: attempt}, CreatedAt: time.Unix(created, 0)}
	}
	s := &PodStatus{
		UID: "u", Name: "web", Namespace: "ns",
		Sandboxes:  []SandboxStatus{{Sandbox: Sandbox{ID: "old"}}, {Sandbox: Sandbox{ID: "new", Attempt: 1}}},
		Containers: []ContainerStatus{container("b", 0, 1), container("a", 0, 2), container("a", 1, 3), container("b", 0, 4)},
	}
	s.Sort()
	pod := s.Pod()
	assert.Equal(t, Pod{
		UID: "u", Name: "web", Namespace: "ns", Sandboxes: []Sandbox{{ID: "new", Attempt: 1}, {ID: "old"}},
		Containers: []Container{{Name: "a", Attempt: 1}, {Name: "a"}, {Name: "b"}, {Name: "b"}},
	}, pod)
	assert.Equal(t, time.Unix(4, 0), s.Containers[2].CreatedAt, "of one attempt the newest")
}

// TestNoImages: every name is there, and none is listed.
func TestNoImages(t *testing.T) {
	ref, err := NoImages{}.PullImage(t.Context(), PullImageRequest{Image: "/bin/sh"})
	require.NoError(t, err)
	assert.Equal(t, "/bin/sh", ref)
	image, err := NoImages{}.ImageStatus(t.Context(), ImageStatusRequest{Image: "/bin/sh"})
	require.NoError(t, err)
	assert.Equal(t, Image{ID: "/bin/sh"}, image)
	all, err := NoImages{}.ListImages(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
	assert.NoError(t, NoImages{}.RemoveImage(t.Context(), RemoveImageRequest{}))
}
