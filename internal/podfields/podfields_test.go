package podfields_test

import (
	"encoding/binary"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/internal/podfields"
)

func TestNewer(t *testing.T) {
	for path, want := range map[string]string{
		"spec.containers[0].volumeMounts[12].bindMountOptions":    "1.37",
		"spec.initContainers[3].volumeMounts[0].bindMountOptions": "1.37",
		"spec.evictionResponders":                                 "1.37",
		"spec.evictionResponders[0].name":                         "1.37",
		"spec.volumes[0].emptyDir.mode":                           "1.37",
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

// findJSON is FindInPod of a pod in JSON.
func findJSON(t *testing.T, pod string) []podfields.Found {
	found, err := podfields.FindInPod([]byte(pod))
	require.NoError(t, err)
	return found
}

func TestFindInPod_JSON(t *testing.T) {
	assert.Equal(t, []podfields.Found{
		{Path: "spec.evictionResponders", Since: "1.37"},
		{Path: "spec.volumes[1].secret.items[0].user", Since: "1.37"},
		{Path: "spec.containers[1].volumeMounts[1].bindMountOptions", Since: "1.37"},
	}, findJSON(t, `{
		"spec": {
			"evictionResponders": [{"name": "a.example.org/b"}],
			"volumes": [{"emptyDir": {"mode": null}}, {"secret": {"secretName": "s", "items": [{"key": "k", "user": 0}]}}],
			"containers": [{"name": "a", "mode": 1}, {"volumeMounts": [{"name": "v"}, {"bindMountOptions": ["noexec"]}]}]
		},
		"status": {"volumeHealth": []}
	}`))
	assert.Empty(t, findJSON(t, "null"))
}

// TestFindInPod_Twice: a decoder merges the values of a duplicate field, so each of them counts.
func TestFindInPod_Twice(t *testing.T) {
	const text = `{"spec":{"containers":[{"name":"c","volumeMounts":[{"name":"v","bindMountOptions":["noexec"]}]}]},"spec":{"nodeName":"n"}}`
	var pod v1.Pod
	require.NoError(t, json.Unmarshal([]byte(text), &pod))
	require.Equal(t, "c v n", pod.Spec.Containers[0].Name+" "+pod.Spec.Containers[0].VolumeMounts[0].Name+" "+pod.Spec.NodeName)
	want := []podfields.Found{{Path: "spec.containers[0].volumeMounts[0].bindMountOptions", Since: "1.37"}}
	assert.Equal(t, want, findJSON(t, text))
	lists, err := podfields.FindInPods([]byte(`{"kind":"PodList","items":[` + text + `],"items":[{}]}`))
	require.NoError(t, err)
	assert.Equal(t, map[int][]podfields.Found{0: want}, lists)
}

// TestFindInPod_Bounds: a pod with very many fields costs one list of a hundred, and a deep one is an error.
func TestFindInPod_Bounds(t *testing.T) {
	mounts := strings.Repeat(`{"bindMountOptions":["noexec"]},`, 10_000)
	assert.Len(t, findJSON(t, `{"spec":{"containers":[{"volumeMounts":[`+mounts+`{}]}]}}`), 100)
	_, err := podfields.FindInPod([]byte(`{"spec":` + strings.Repeat("[", 1_000_000)))
	require.Error(t, err)
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

// inEnvelope returns a message as the API sends it.
func inEnvelope(t testing.TB, kind string, message []byte) []byte {
	text, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: message}).Marshal()
	require.NoError(t, err)
	return append([]byte("k8s\x00"), text...)
}

// unknownFieldsInProtobufPod lists the fields of a pod's spec in a protobuf message that the Go types of this
// build lack, in the order of the message, at most 100. A field that [Newer] knows has its name in the path.
// Another field has its number, as in spec.#99.
func unknownFieldsInProtobufPod(t testing.TB, pod []byte) []podfields.Found {
	found, err := podfields.FindInPod(inEnvelope(t, "Pod", pod))
	require.NoError(t, err)
	return found
}

// TestFindInPod: a decoder reads what follows a group, or an unknown field of any other form, so fields
// behind it are found too. A text that a decoder could read in another way is an error.
func TestFindInPod(t *testing.T) {
	newer := taggedField(2, taggedField(44, taggedField(1, 'r')...)...)
	want := []podfields.Found{{Path: "spec.evictionResponders", Since: "1.37"}}
	group := slices.Concat([]byte{15<<3 | 3}, taggedField(1, 'x'), []byte{1<<3 | 3, 1<<3 | 4, 15<<3 | 4})
	for name, before := range map[string][]byte{
		"group": group, "varint": {14<<3 | 0, 200, 1}, "fixed64": append([]byte{14<<3 | 1}, make([]byte, 8)...), "fixed32": append([]byte{14<<3 | 5}, make([]byte, 4)...),
	} {
		text := slices.Concat(before, newer)
		require.NoError(t, (&v1.Pod{}).Unmarshal(text), name)
		assert.Equal(t, want, unknownFieldsInProtobufPod(t, text), name)
		lists, err := podfields.FindInPods(inEnvelope(t, "PodList", slices.Concat(before, taggedField(2), taggedField(2, text...))))
		require.NoError(t, err)
		assert.Equal(t, map[int][]podfields.Found{0: nil, 1: want}, lists, name)
	}
	for _, wrong := range [][]byte{{15<<3 | 3}, {15<<3 | 4}, {14<<3 | 6}, binary.AppendUvarint(nil, 1<<35|2<<3|2), {2<<3 | 2, 200}} {
		_, err := podfields.FindInPod(inEnvelope(t, "Pod", slices.Concat(wrong, newer)))
		require.Error(t, err, "%v", wrong)
		_, err = podfields.FindInPods(inEnvelope(t, "PodList", slices.Concat(wrong, taggedField(2, newer...))))
		require.Error(t, err, "%v", wrong)
	}
	found, err := podfields.FindInPod([]byte(`{"spec":{"evictionResponders":[{}]},"Spec":{},"items":[{"spec":{"hostname":"h"}}]}`))
	require.NoError(t, err)
	assert.Equal(t, want, found, "names are compared exactly, and an item is no pod here")
	lists, err := podfields.FindInPods([]byte(`{"items":[{},{"spec":{"evictionResponders":[{}]}}],"Items":[]}`))
	require.NoError(t, err)
	assert.Equal(t, map[int][]podfields.Found{0: nil, 1: want}, lists)
	for _, wrong := range []string{"", "{", `{"spec":`, `{"items":[`, "k8s\x00\xff"} {
		_, err := podfields.FindInPod([]byte(wrong))
		require.Error(t, err, wrong)
		_, err = podfields.FindInPods([]byte(wrong))
		require.Error(t, err, wrong)
	}
}

// taggedField returns a field of a protobuf message with a number and a text.
func taggedField(number int, text ...byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number<<3|2)), uint64(len(text))), text...)
}

// A pod of an API server that is newer: what its types have and ours lack is found in the message.
func TestFindInProtobuf(t *testing.T) {
	pod := &v1.Pod{}
	pod.Name, pod.Spec.NodeSelector = "p", map[string]string{"a": "b"}
	pod.Spec.Volumes = []v1.Volume{{Name: "a"}, {Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers = []v1.Container{{Name: "c", VolumeMounts: []v1.VolumeMount{{Name: "a"}, {Name: "v"}}, Resources: v1.ResourceRequirements{
		Limits: v1.ResourceList{"cpu": resource.MustParse("1")},
	}}}
	plain, err := pod.Marshal()
	require.NoError(t, err)
	assert.Empty(t, unknownFieldsInProtobufPod(t, plain))

	mount := slices.Concat(taggedField(1, 'v'), taggedField(8, []byte("noexec")...), taggedField(8, []byte("nodev")...))
	emptyDir := taggedField(1, append([]byte{}, 'M')...)
	emptyDir = append(emptyDir, 3<<3|0, 7)
	spec := slices.Concat(
		taggedField(1, slices.Concat(taggedField(1, 'e'), taggedField(2, taggedField(2, emptyDir...)...))...),
		taggedField(2, slices.Concat(taggedField(1, 'a'), taggedField(9, taggedField(1, 'x')...), taggedField(9, mount...))...),
		taggedField(44, taggedField(1, 'r')...),
		taggedField(99, 'x'),
	)
	assert.Equal(t, []podfields.Found{
		{Path: "spec.volumes[0].emptyDir.mode", Since: "1.37"},
		{Path: "spec.containers[0].volumeMounts[1].bindMountOptions", Since: "1.37"},
		{Path: "spec.evictionResponders", Since: "1.37"},
		{Path: "spec.#99"},
	}, unknownFieldsInProtobufPod(t, slices.Concat(taggedField(2, spec...), taggedField(3, taggedField(99, 'x')...), taggedField(77, 'x'))), "the status is of nodes")
}

func FuzzFindWire(f *testing.F) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}}
	text, err := pod.Marshal()
	require.NoError(f, err)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := podfields.FindInPod(inEnvelope(t, "Pod", text))
		assert.LessOrEqual(t, len(found), 101)
		if (&v1.Pod{}).Unmarshal(text) == nil && err == nil {
			for _, f := range found {
				assert.True(t, strings.HasPrefix(f.Path, "spec."), f.Path)
			}
		}
	})
}
