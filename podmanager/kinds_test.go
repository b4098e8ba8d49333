package podmanager_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
)

func TestKinds(t *testing.T) {
	for _, tc := range []struct {
		name                    string
		pod                     *v1.Pod
		source                  string
		knowsSource, isSt, isMi bool
	}{
		{"from a file", newPod("a", "a", podmanager.ConfigSourceAnnotation, "file"), "file", true, true, false},
		{"from the host program", newPod("a", "a", podmanager.ConfigSourceAnnotation, "api"), "api", true, false, false},
		{"without annotation", newPod("a", "a"), "", false, false, false},
		{"with an empty annotation", newPod("a", "a", podmanager.ConfigSourceAnnotation, ""), "", true, true, false},
		{"mirror", mirrorPod("a", "a"), "api", true, false, true},
		{"mirror with an empty hash", newPod("a", "a", podmanager.ConfigMirrorAnnotation, ""), "", false, false, true},
		{"nil", nil, "", false, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, err := podmanager.PodSource(tc.pod)
			assert.Equal(t, tc.source, source)
			assert.Equal(t, tc.knowsSource, err == nil)
			assert.Equal(t, tc.isSt, podmanager.IsStaticPod(tc.pod))
			assert.Equal(t, tc.isMi, podmanager.IsMirrorPod(tc.pod))
		})
	}
	_, err := podmanager.PodSource(newPod("a", "web"))
	require.ErrorContains(t, err, "web_ns", "says which pod")
}

func TestIsMirrorPodOf(t *testing.T) {
	const mi, ha = podmanager.ConfigMirrorAnnotation, podmanager.ConfigHashAnnotation
	elsewhere := newPod("m", "web", mi, "h")
	elsewhere.Namespace = "elsewhere"
	st := newPod("s", "web", ha, "h")
	for _, tc := range []struct {
		name        string
		mirror, pod *v1.Pod
		want        bool
	}{
		{"same name, namespace and hash", newPod("m", "web", mi, "h"), st, true},
		{"other hash", newPod("m", "web", mi, "old"), st, false},
		{"other name", newPod("m", "web2", mi, "h"), st, false},
		{"other namespace", elsewhere, st, false},
		{"not a mirror", newPod("m", "web", ha, "h"), st, false},
		{"neither has a hash", newPod("m", "web"), newPod("s", "web"), false},
		{"nil mirror", nil, st, false},
		{"nil pod", newPod("m", "web", mi, "h"), nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, podmanager.IsMirrorPodOf(tc.mirror, tc.pod))
		})
	}
}

func TestFullName(t *testing.T) {
	assert.Equal(t, "web_ns", podmanager.FullName(newPod("a", "web")))
	assert.Empty(t, podmanager.FullName(nil))
}
