package cri_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
)

// What a runtime mounts of images is known once it has answered a call. What it would mount in another
// way, or not at all, is not asked of it.
func TestImageMounts(t *testing.T) {
	whole := runtime.Mount{ContainerPath: "/data", Image: "i:1", ReadOnly: true}
	part := runtime.Mount{ContainerPath: "/part", Image: "i:1", ImageSubPath: "a", ReadOnly: true}
	for _, c := range []struct {
		name, version string
		want          runtime.ImageMounts
		whole, part   string // errors
	}{
		{"containerd", "1.6.20~ds1", runtime.ImageMountsNone,
			"cri: runtime: unsupported: containerd 1.6.20~ds1 cannot mount the image at /data", "cri: runtime: unsupported: containerd 1.6.20~ds1 cannot mount the image at /part"},
		{"containerd", "v2.1.4", runtime.ImageMountsWhole, "", "cri: runtime: unsupported: containerd v2.1.4 cannot mount a part of the image at /part"},
		{"containerd", "v2.4.2", runtime.ImageMountsAll, "", ""},
		{"other", "7", runtime.ImageMountsUnknown, "", ""},
	} {
		s := newFake(t)
		s.is.name, s.is.version = c.name, c.version
		r := s.client("me")
		assert.Equal(t, runtime.ImageMountsUnknown, r.ImageMounts(), "before the first call")
		_, err := r.PullImage(t.Context(), runtime.PullImageRequest{Image: "i:1"})
		require.NoError(t, err)
		assert.Equal(t, c.want, r.ImageMounts(), c.version)
		pod := runtime.PodRef{UID: "u", Name: "n", Namespace: "s"}
		sandbox, err := r.RunSandbox(t.Context(), runtime.RunSandboxRequest{Pod: pod})
		require.NoError(t, err)
		create := func(name string, m runtime.Mount, want string) {
			_, err := r.CreateContainer(t.Context(), runtime.CreateContainerRequest{Pod: pod, SandboxID: sandbox, Name: name, Image: "i:1", Mounts: []runtime.Mount{m}})
			if want == "" {
				require.NoError(t, err, c.version)
				return
			}
			require.EqualError(t, err, want)
			require.ErrorIs(t, err, runtime.ErrUnsupported)
		}
		create("whole", whole, c.whole)
		create("part", part, c.part)
	}
}
