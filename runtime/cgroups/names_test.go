package cgroups_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime/cgroups"
)

// The directories of the three classes (CG-1). A UID with "pod" in it is read back (CG-4).
func TestPodDir_CG1_CG4_RoundTrip(t *testing.T) {
	root := testRoot(t)
	assert.Equal(t, "/podkeel-test", root.String())
	for class, want := range map[v1.PodQOSClass]string{
		v1.PodQOSGuaranteed: "/podkeel-test/pod", v1.PodQOSBurstable: "/podkeel-test/burstable/pod", v1.PodQOSBestEffort: "/podkeel-test/besteffort/pod",
	} {
		for _, uid := range []types.UID{"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "pod", "podpod1", "a-pod-b", "a_b.c", types.UID(strings.Repeat("x", 128))} {
			dir, err := root.PodDir(class, uid)
			require.NoError(t, err)
			assert.Equal(t, want+string(uid), dir)
			gotClass, gotUID, ok := root.ParsePodDir(dir)
			assert.True(t, ok, dir)
			assert.Equal(t, class, gotClass)
			assert.Equal(t, uid, gotUID)
		}
	}
}

// A UID or owner that could leave its directory is an error, and never a panic (CG-2).
func TestPodDir_CG2_Invalid(t *testing.T) {
	root := testRoot(t)
	for _, uid := range []types.UID{"", ".", "..", "../x", "a/b", "/", "-a", "a b", "a\x00", "a\n", types.UID(strings.Repeat("x", 129))} {
		_, err := root.PodDir(v1.PodQOSBurstable, uid)
		assert.ErrorIs(t, err, cgroups.ErrInvalidName, "%q", uid)
	}
	for _, owner := range []string{"", ".", "..", "a/b", "-a", "a b", strings.Repeat("x", 65)} {
		_, err := cgroups.RootForOwner(owner)
		assert.ErrorIs(t, err, cgroups.ErrInvalidName, "%q", owner)
	}
	_, err := cgroups.RootForOwner(strings.Repeat("x", 64))
	assert.NoError(t, err)
	for _, dir := range []string{
		"", "/", "pod1", "/pod1", "/podkeel-test", "/podkeel-test/", "/podkeel-test/burstable", "/podkeel-test/pod", "/podkeel-test/podx/y", "/podkeel-test/pod1/c",
		"/podkeel-other/pod1", "/podkeel-test/burstable/x", "/podkeel-test/guaranteed/pod1", "/podkeel-test//pod1", "/podkeel-test/../podkeel-test/pod1", "/kubepods/pod1",
	} {
		_, _, ok := root.ParsePodDir(dir)
		assert.False(t, ok, dir)
	}
	_, _, ok := cgroups.Root{}.ParsePodDir("/pod1")
	assert.False(t, ok)
}

// The nested slices of the systemd driver, and back (CG-3).
func TestSystemdDir_CG3(t *testing.T) {
	for dir, want := range map[string]string{
		"/podkeel-a":                   "/podkeel_a.slice",
		"/podkeel-a/pod12-34":          "/podkeel_a.slice/podkeel_a-pod12_34.slice",
		"/podkeel-a/burstable/pod12-3": "/podkeel_a.slice/podkeel_a-burstable.slice/podkeel_a-burstable-pod12_3.slice",
	} {
		got, err := cgroups.SystemdDir(dir)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		back, ok := cgroups.CgroupfsDir(got)
		assert.True(t, ok)
		assert.Equal(t, dir, back)
	}
	for _, dir := range []string{"", "/", "/podkeel-a/pod1_2", "/podkeel-a/pod1.2", "/podkeel-a//pod1"} {
		_, err := cgroups.SystemdDir(dir)
		assert.ErrorIs(t, err, cgroups.ErrInvalidName, "%q", dir)
	}
	for _, slices := range []string{"", "/", "x", "/a-b.slice", "/x.slice/a-b.slice", ".slice", "/a.slice/a-.slice"} {
		_, ok := cgroups.CgroupfsDir(slices)
		assert.False(t, ok, "%q", slices)
	}
}

// No path and no UID makes a function panic. Each path that is parsed equals the path that is formatted from the result.
func FuzzParsePodDir(f *testing.F) {
	for _, text := range []string{"/podkeel-test/pod1", "/podkeel-test/burstable/pod1", "pod", "..", "/a.slice/a-b.slice"} {
		f.Add(text)
	}
	root := testRoot(f)
	f.Fuzz(func(t *testing.T, text string) {
		if class, uid, ok := root.ParsePodDir(text); ok {
			dir, err := root.PodDir(class, uid)
			require.NoError(t, err)
			assert.Equal(t, text, dir)
		}
		if dir, err := root.PodDir(v1.PodQOSBestEffort, types.UID(text)); err == nil {
			_, uid, ok := root.ParsePodDir(dir)
			assert.True(t, ok)
			assert.Equal(t, types.UID(text), uid)
		}
		if slices, err := cgroups.SystemdDir(text); err == nil {
			_, _ = cgroups.CgroupfsDir(slices)
		}
		if dir, ok := cgroups.CgroupfsDir(text); ok {
			slices, err := cgroups.SystemdDir(dir)
			require.NoError(t, err)
			assert.Equal(t, text, slices)
		}
	})
}
