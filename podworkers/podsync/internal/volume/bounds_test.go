package volume

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Paths and names at the bounds: the longest ones, and each character beside those that are refused.
func TestPaths_Bounds(t *testing.T) {
	longest := strings.Repeat("x", 4000)
	for p, want := range map[string]string{longest: longest, longest + "x": "", "\x00a": "", "a\x00": "", "\x01": "\x01"} {
		got, err := CleanSubPath(p)
		assert.Equal(t, want, got, "%.10q", p)
		assert.Equal(t, want == "", err != nil, "%.10q", p)
	}
	for p, want := range map[string]string{"\x00/a": "", "/a\x00": "", "a": "/a", "/a:b": "", "": "", "/a/../b": ""} {
		got, err := cleanMountPath(p)
		assert.Equal(t, want, got, "%q", p)
		assert.Equal(t, want == "", err != nil, "%q", p)
	}
	for name, want := range map[string]bool{"a b": true, "a\x1f": false, "~": true, "a\x7f": false, strings.Repeat("x", 253): true, strings.Repeat("x", 254): false} {
		assert.Equal(t, want, CheckPathElement(name) == nil, "%.10q", name)
	}
}

func TestHosts_Bounds(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{HostNetwork: true}}
	for host, want := range map[string]string{"": "", "a": "a\n", "a\n": "a\n"} {
		got, err := HostsFile(pod, nil, nil, []byte(host))
		assert.NoError(t, err)
		assert.Equal(t, "# Kubernetes-managed hosts file (host network).\n"+want, string(got))
	}
	for name, want := range map[string]bool{"a": true, "a b": false, "!": true, "a\x1f": false, "a\x7f": false, "~": true, "": false, "a#": false} {
		_, err := HostsFile(&v1.Pod{}, []string{"10.0.0.1"}, []string{name}, nil)
		assert.Equal(t, want, err == nil, "%q", name)
	}
}

func TestProblems_Bounds(t *testing.T) {
	for _, mode := range []int32{-1, 0, 0o777, 0o1000} {
		var f problemFinder
		f.checkMode("mode", &mode)
		assert.Equal(t, mode < 0 || mode > 0o777, len(f.found) > 0, mode)
	}
	for size, want := range map[string]int{"-1": 1, "0": 0, "1": 0} {
		var f problemFinder
		f.checkEmptyDir(&v1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse(size))}, "emptyDir")
		assert.Len(t, f.found, want, size)
	}
	for medium, want := range map[v1.StorageMedium]bool{"HugePages-0": false, "HugePages--1": false, "HugePages-1": true, "HugePages": true, "": true} {
		_, err := mediumPageSize(medium)
		assert.Equal(t, want, err == nil, medium)
	}
}

// The items of each kind of source are checked.
func TestProblems_ItemsOfEachSource(t *testing.T) {
	for name, s := range map[string]v1.VolumeProjection{
		"configMap":   {ConfigMap: &v1.ConfigMapProjection{Items: []v1.KeyToPath{{Key: "k", Path: "/a", Mode: new(int32(-1))}}}},
		"secret":      {Secret: &v1.SecretProjection{Items: []v1.KeyToPath{{Key: "k", Path: "/a", Mode: new(int32(-1))}}}},
		"downwardAPI": {DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{{FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}, Path: "/a", Mode: new(int32(-1))}}}},
	} {
		var f problemFinder
		f.checkSource(&v1.Pod{}, s, "at")
		var fields []string
		for _, p := range f.found {
			fields = append(fields, p.Field)
		}
		assert.Equal(t, []string{"at.items[0].path", "at.items[0].mode"}, fields, name)
	}
}
