package cri_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	criv1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri"
)

// The adapter reports how a runtime mounts images once the runtime has answered a call. It refuses an unsupported kind
// of mount without a call.
func TestFeatures_ImageMounts(t *testing.T) {
	whole := runtime.Mount{ContainerPath: "/data", Image: "i:1", ReadOnly: true}
	part := runtime.Mount{ContainerPath: "/part", Image: "i:1", ImageSubPath: "a", ReadOnly: true}
	for _, c := range []struct {
		name, version string
		want          runtime.ImageMounts
		whole, part   string // errors
	}{
		{"containerd", "1.6.20~ds1", runtime.ImageMountsNone,
			"cri: runtime: unsupported: containerd 1.6.20~ds1 cannot mount the image at /data", "cri: runtime: unsupported: containerd 1.6.20~ds1 cannot mount the image at /part"},
		{"containerd", "v2.1.4", runtime.ImageMountsWhole, "", "cri: runtime: unsupported: containerd v2.1.4 cannot mount a directory of the image at /part"},
		{"containerd", "v2.4.2", runtime.ImageMountsAll, "", ""},
		{"other", "7", runtime.ImageMountsUnknown, "", ""},
	} {
		s := newFake(t)
		s.is.name, s.is.version = c.name, c.version
		r := s.client("me")
		assert.Equal(t, []any{runtime.ImageMountsUnknown, runtime.SupportUnknown}, []any{r.Features().ImageMounts, r.Features().StrictGroups}, "before the first call")
		_, err := r.PullImage(t.Context(), runtime.PullImageRequest{Image: "i:1"})
		require.NoError(t, err)
		assert.Equal(t, []any{c.want, runtime.SupportNone}, []any{r.Features().ImageMounts, r.Features().StrictGroups}, c.version)
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

// TestFeatures_RecursiveReadOnly: the handlers that support recursive read-only mounts are known after the first call.
func TestFeatures_RecursiveReadOnly(t *testing.T) {
	s := newFake(t)
	s.is.handlers = []*criv1.RuntimeHandler{{Features: &criv1.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: true}}, {Name: "kata"}}
	r := s.client("me")
	assert.Nil(t, r.Features().RecursiveReadOnly)
	_, err := r.RunSandbox(t.Context(), runtime.RunSandboxRequest{Pod: runtime.PodRef{UID: "u", Name: "n", Namespace: "s"}})
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{"": true, "kata": false}, r.Features().RecursiveReadOnly)
}

// A runtime that does not say that it knows the policy Strict would pass over it, and give processes more
// groups than are meant: neither a sandbox nor a container with it is asked of that runtime.
func TestFeatures_StrictGroups(t *testing.T) {
	for _, strict := range []bool{false, true} {
		s := newFake(t)
		s.is.strict = strict
		r := s.client("me")
		pod := runtime.PodRef{UID: "u", Name: "n", Namespace: "s"}
		security := runtime.Security{StrictGroups: true}
		_, err := r.PullImage(t.Context(), runtime.PullImageRequest{Image: "i:1"})
		require.NoError(t, err)
		sandbox, err := r.RunSandbox(t.Context(), runtime.RunSandboxRequest{Pod: pod})
		require.NoError(t, err)
		_, inSandbox := r.RunSandbox(t.Context(), runtime.RunSandboxRequest{Pod: pod, Attempt: 1, Security: security})
		_, inContainer := r.CreateContainer(t.Context(), runtime.CreateContainerRequest{Pod: pod, SandboxID: sandbox, Name: "c", Image: "i:1", Security: security})
		if strict {
			assert.Equal(t, runtime.SupportFull, r.Features().StrictGroups)
			require.NoError(t, inSandbox)
			require.NoError(t, inContainer)
			continue
		}
		assert.Equal(t, runtime.SupportNone, r.Features().StrictGroups)
		for _, err := range []error{inSandbox, inContainer} {
			require.EqualError(t, err, "cri: runtime: unsupported: fake 1 cannot ignore the groups of the user in the image")
			require.ErrorIs(t, err, runtime.ErrUnsupported)
		}
	}
}

// TestCgroupDriver has the answers of a runtime, of one that does not know the call, and of one without the field.
func TestCgroupDriver(t *testing.T) {
	for _, c := range []struct {
		answer *criv1.RuntimeConfigResponse
		want   string
	}{
		{&criv1.RuntimeConfigResponse{Linux: &criv1.LinuxRuntimeConfiguration{CgroupDriver: criv1.CgroupDriver_SYSTEMD}}, cri.CgroupDriverSystemd},
		{&criv1.RuntimeConfigResponse{Linux: &criv1.LinuxRuntimeConfiguration{CgroupDriver: criv1.CgroupDriver_CGROUPFS}}, cri.CgroupDriverCgroupfs},
		{&criv1.RuntimeConfigResponse{}, ""},
		{nil, ""},
	} {
		s := newFake(t)
		s.is.driver = c.answer
		driver, err := s.client("me").CgroupDriver(t.Context())
		assert.Equal(t, c.want, driver)
		if c.want == "" {
			assert.ErrorIs(t, err, runtime.ErrUnsupported)
		} else {
			assert.NoError(t, err)
		}
	}
}
