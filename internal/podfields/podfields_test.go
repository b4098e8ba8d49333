package podfields_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podfields"
)

func TestNewer(t *testing.T) {
	for path, want := range map[string]string{
		"spec.containers[0].volumeMounts[12].bindMountOptions":    "0.37",
		"spec.initContainers[3].volumeMounts[0].bindMountOptions": "0.37",
		"spec.evictionResponders":                                 "0.37",
		"spec.evictionResponders[0].name":                         "0.37",
		"spec.volumes[0].emptyDir.mode":                           "0.37",
		"spec.containers[0].volumeMounts[0].bindMountOption":      "",
		"spec.containers[0].bindMountOptions":                     "",
		"spec.containers[0":                                       "",
		"spec":                                                    "",
		"":                                                        "",
	} {
		since, is := podfields.Newer(path)
		assert.Equal(t, want, since, path)
		assert.Equal(t, want != "", is, path)
	}
}

func TestFind(t *testing.T) {
	var pod any
	require.NoError(t, json.Unmarshal([]byte(`{
		"spec": {
			"evictionResponders": [{"name": "a.example.org/b"}],
			"volumes": [{"emptyDir": {"mode": null}}, {"secret": {"secretName": "s", "items": [{"key": "k", "user": 0}]}}],
			"containers": [{"name": "a", "mode": 1}, {"volumeMounts": [{"name": "v"}, {"bindMountOptions": ["noexec"]}]}]
		},
		"status": {"volumeHealth": []}
	}`), &pod))
	assert.Equal(t, []podfields.Found{
		{Path: "spec.containers[1].volumeMounts[1].bindMountOptions", Since: "0.37"},
		{Path: "spec.evictionResponders", Since: "0.37"},
		{Path: "spec.volumes[1].secret.items[0].user", Since: "0.37"},
	}, podfields.Find(pod))
	assert.Empty(t, podfields.Find(nil))
}

// A pod with very many of them costs one list of a hundred.
func TestFind_IsBounded(t *testing.T) {
	mounts := make([]any, 10_000)
	for i := range mounts {
		mounts[i] = map[string]any{"bindMountOptions": []any{"noexec"}}
	}
	pod := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"volumeMounts": mounts}}}}
	assert.Len(t, podfields.Find(pod), 100)
}

func TestPaths(t *testing.T) {
	type item struct {
		Name string `json:"name"`
		Self []item `json:"self,omitempty"`
	}
	type of struct {
		item   `json:""`
		Items  []*item         `json:"items"`
		Map    map[string]item `json:"map"`
		Hidden int             `json:"-"`
	}
	assert.Equal(t, []string{"items", "items[].name", "items[].self", "map", "name", "self"}, podfields.Paths(reflect.TypeFor[of]()))

	paths := podfields.Paths(reflect.TypeFor[v1.Pod]())
	for _, want := range []string{
		"spec.containers[].resources.limits", "spec.volumes[].emptyDir.sizeLimit", "spec.containers[].livenessProbe.httpGet.port",
		"spec.ephemeralContainers[].name", "metadata.ownerReferences[].uid", "kind",
	} {
		assert.Contains(t, paths, want)
	}
	for _, p := range paths {
		assert.False(t, strings.HasPrefix(p, "spec.containers[].resources.limits."), p)
	}
}

// The list holds what the types lack, and nothing else: a decoder would drop it.
func TestNewer_ListsFieldsThatTheTypesLack(t *testing.T) {
	for _, p := range podfields.Paths(reflect.TypeFor[v1.Pod]()) {
		_, is := podfields.Newer(p)
		assert.False(t, is, "%s is a field of the types in use: run go generate ./internal/podfields", p)
	}
}
