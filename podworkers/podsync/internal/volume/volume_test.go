package volume_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
)

func TestFiles_F14_Bounds(t *testing.T) {
	v := &v1.Volume{Name: "v", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "m"}}}}
	files := func(m *v1.ConfigMap) error {
		_, err := volume.Files(&v1.Pod{}, v, environ.Objects{ConfigMaps: map[string]*v1.ConfigMap{"m": m}}, nil)
		return err
	}
	many := &v1.ConfigMap{Data: map[string]string{}}
	for i := range volume.MaxFiles {
		many.Data[fmt.Sprint(i)] = ""
	}
	assert.NoError(t, files(many))
	many.Data["one more"] = ""
	assert.ErrorIs(t, files(many), volume.ErrTooLarge)
	large := strings.Repeat("x", volume.MaxBytes)
	assert.NoError(t, files(&v1.ConfigMap{Data: map[string]string{"a": large}}))
	assert.ErrorIs(t, files(&v1.ConfigMap{Data: map[string]string{"a": large, "b": "x"}}), volume.ErrTooLarge)
}

func TestElement_F10(t *testing.T) {
	for _, good := range []string{"a", "a.b", "..a", "5c6f-11", strings.Repeat("x", 253)} {
		assert.NoError(t, volume.CheckPathElement(good), good)
	}
	for _, bad := range []string{"", ".", "..", "a/b", `a\b`, "a:b", "a\x00b", "a\nb", strings.Repeat("x", 254)} {
		assert.ErrorIs(t, volume.CheckPathElement(bad), volume.ErrPath, bad)
	}
}

// Every text as a subPath is an error or a path in the volume.
func FuzzBelow(f *testing.F) {
	for _, seed := range []string{"", ".", "a", "a/b", "../a", "a/..", "a/../..", "/a", "a//b/", `a\..\b`, "a/..b", "...", "a\x00", "./../a", "a/./b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		got, err := volume.CleanSubPath(p)
		if err != nil {
			assert.ErrorIs(t, err, volume.ErrPath)
			return
		}
		assert.False(t, strings.HasPrefix(got, "/") || got == ".." || strings.HasPrefix(got, "../") || strings.Contains(got, "/../"), "%q", got)
		again, err := volume.CleanSubPath(got)
		assert.NoError(t, err)
		assert.Equal(t, got, again)
	})
}
