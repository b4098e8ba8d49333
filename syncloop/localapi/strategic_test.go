package localapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"pgregory.net/rapid"
)

// strategicPatches are patches of one pod: each rule of strategic merge patches, and what the
// pod is then. An error has no text here: the API server's own package has others.
var strategicPatches = []struct{ rule, before, patch, after string }{
	{"a scalar is replaced, null removes", `{"spec":{"nodeName":"a","hostname":"h"}}`, `{"spec":{"nodeName":"b","hostname":null}}`, `{"spec":{"nodeName":"b"}}`},
	{"a new object loses its nulls", `{}`, `{"metadata":{"labels":{"a":"b","c":null}}}`, `{"metadata":{"labels":{"a":"b"}}}`},
	{"a map is merged", `{"metadata":{"labels":{"a":"1","b":"2"}}}`, `{"metadata":{"labels":{"b":"3","c":"4"}}}`, `{"metadata":{"labels":{"a":"1","b":"3","c":"4"}}}`},
	{"a map is replaced", `{"metadata":{"labels":{"a":"1"}}}`, `{"metadata":{"labels":{"$patch":"replace","c":"4"}}}`, `{"metadata":{"labels":{"c":"4"}}}`},
	{"a map is emptied", `{"metadata":{"labels":{"a":"1"}}}`, `{"metadata":{"labels":{"$patch":"delete"}}}`, `{"metadata":{"labels":{}}}`},
	{"a directive in vain", `{"spec":{"nodeName":"a"}}`, `{"spec":{"securityContext":{"$patch":"delete"}}}`, `{"spec":{"nodeName":"a"}}`},
	{"a list is merged by its key", `{"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}}`, `{"spec":{"containers":[{"name":"b","image":"2"}]}}`,
		`{"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"}]}}`},
	{"a new element comes first without an order", `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"b"}]}}`, `{"spec":{"containers":[{"name":"b"},{"name":"a"}]}}`},
	{"a key can be a number", `{"spec":{"containers":[{"name":"a","ports":[{"containerPort":1},{"containerPort":2}]}]}}`,
		`{"spec":{"containers":[{"name":"a","ports":[{"containerPort":2,"name":"x"}]}]}}`,
		`{"spec":{"containers":[{"name":"a","ports":[{"containerPort":1},{"containerPort":2,"name":"x"}]}]}}`},
	{"an element is deleted", `{"spec":{"volumes":[{"name":"a"},{"name":"b"}]}}`, `{"spec":{"volumes":[{"name":"a","$patch":"delete"}]}}`, `{"spec":{"volumes":[{"name":"b"}]}}`},
	{"all elements are replaced", `{"spec":{"volumes":[{"name":"a"},{"name":"b"}]}}`, `{"spec":{"volumes":[{"name":"c"},{"$patch":"replace"}]}}`, `{"spec":{"volumes":[{"name":"c"}]}}`},
	{"the order of a list", `{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`,
		`{"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],"containers":[{"name":"b","image":"2"}]}}`,
		`{"spec":{"containers":[{"name":"b","image":"2"},{"name":"a"}]}}`},
	{"what the order does not name keeps its place", `{"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}}`,
		`{"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"d"}],"containers":[{"name":"d"}]}}`,
		`{"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}]}}`},
	{"an order against the patch", `{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`,
		`{"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],"containers":[{"name":"a"},{"name":"b"}]}}`, ""},
	{"keys that stay", `{"spec":{"volumes":[{"name":"a","emptyDir":{}}]}}`, `{"spec":{"volumes":[{"name":"a","$retainKeys":["name","secret"],"secret":{"secretName":"s"}}]}}`,
		`{"spec":{"volumes":[{"name":"a","secret":{"secretName":"s"}}]}}`},
	{"a key that must stay", `{"spec":{"volumes":[{"name":"a"}]}}`, `{"spec":{"volumes":[{"name":"a","$retainKeys":["name"],"secret":{}}]}}`, ""},
	{"scalars are merged", `{"metadata":{"finalizers":["a","b"]}}`, `{"metadata":{"finalizers":["c","b"]}}`, `{"metadata":{"finalizers":["c","a","b"]}}`},
	{"scalars are deleted", `{"metadata":{"finalizers":["a","b"]}}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}}`, `{"metadata":{"finalizers":["b"]}}`},
	{"scalars are deleted in vain", `{"metadata":{}}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}}`, `{"metadata":{}}`},
	{"a list without a key is replaced", `{"spec":{"tolerations":[{"key":"a"}]}}`, `{"spec":{"tolerations":[{"key":"b"}]}}`, `{"spec":{"tolerations":[{"key":"b"}]}}`},
	{"a key that a patch has twice", `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"b","image":"1"},{"name":"b","tty":true}]}}`,
		`{"spec":{"containers":[{"name":"b","image":"1","tty":true},{"name":"a"}]}}`},
	{"a key that a pod has twice", `{"spec":{"containers":[{"name":"a","ports":[{"containerPort":53,"protocol":"TCP"},{"containerPort":53,"protocol":"UDP"}]}]}}`,
		`{"spec":{"containers":[{"name":"a","ports":[{"containerPort":53,"name":"dns"}]}]}}`,
		`{"spec":{"containers":[{"name":"a","ports":[{"containerPort":53,"protocol":"TCP","name":"dns"},{"containerPort":53,"protocol":"UDP"}]}]}}`},
	{"an element without its key", `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"image":"1"}]}}`, ""},
	{"an element that is none", `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":["a"]}}`, ""},
	{"an unknown directive", `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"$patch":"append"}}`, ""},
	{"an unknown directive of an element", `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a","$patch":"merge"}]}}`, ""},
	{"the order of no list", `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"$setElementOrder/containers":"a"}}`, ""},
	{"the order of no field", `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"$setElementOrder/boxes":[]}}`, ""},
	{"no document", `{}`, `{`, ""},
}

// TestStrategicPatch: the rules of strategic merge patches, as the API server has them.
func TestStrategicPatch(t *testing.T) {
	for _, c := range strategicPatches {
		t.Run(c.rule, func(t *testing.T) {
			want, wrong := strategicpatch.StrategicMergePatch([]byte(c.before), []byte(c.patch), v1.Pod{})
			got, err := strategicPatch([]byte(c.before), []byte(c.patch), v1.Pod{})
			if c.after == "" {
				require.Error(t, wrong, "the API server accepts it")
				require.ErrorIs(t, err, errPatch)
				return
			}
			require.NoError(t, wrong, "the API server refuses it")
			require.NoError(t, err)
			assert.JSONEq(t, string(want), c.after, "the API server has another result")
			assert.JSONEq(t, c.after, string(got))
		})
	}
}

// TestStrategicPatch_Evil: patches that the API server's package answers by a panic, or takes
// ages for.
func TestStrategicPatch_Evil(t *testing.T) {
	const before = `{"metadata":{"finalizers":["a"]},"spec":{"containers":[{"name":"a","ports":[{"containerPort":1}]}]}}`
	for _, patch := range []string{
		`{"spec":{"containers":[{"name":{}}]}}`, `{"spec":{"containers":[{"name":[1]}]}}`, `{"spec":{"containers":[{"name":null,"$patch":"delete"}]}}`,
		`{"spec":{"containers":[null]}}`, `{"spec":{"containers":[{"$patch":{}}]}}`, `{"metadata":{"finalizers":[{}]}}`, `{"metadata":{"finalizers":[["a"]]}}`,
		`{"metadata":{"$deleteFromPrimitiveList/finalizers":[{}]}}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":"a"}}`,
		`{"spec":{"$retainKeys":[{}],"a":1}}`, `{"spec":{"$retainKeys":"a"}}`, `{"spec":{"$setElementOrder/containers":[{}],"containers":[{"name":"a"}]}}`,
		`{"$patch":{}}`, `{"spec":{"$setElementOrder/":[]}}`, `[]`, `1`, ``,
	} {
		_, err := strategicPatch([]byte(before), []byte(patch), v1.Pod{})
		assert.Error(t, err, patch)
	}
	after, err := strategicPatch([]byte(before), []byte(`null`), v1.Pod{})
	require.NoError(t, err)
	assert.JSONEq(t, before, string(after))
	after, err = strategicPatch([]byte(`{"spec":{}}`), []byte(`{"spec":{"terminationGracePeriodSeconds":9007199254740993}}`), v1.Pod{})
	require.NoError(t, err)
	assert.Equal(t, `{"spec":{"terminationGracePeriodSeconds":9007199254740993}}`, string(after))
	var many strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, `,{"name":"c%d"}`, i)
	}
	_, err = strategicPatch([]byte(before), []byte(`{"spec":{"containers":[`+many.String()[1:]+`]}}`), v1.Pod{})
	require.NoError(t, err)
}

// TestStrategicPatch_Kubectl: patches as kubectl computes them, of any two pods, do the same as
// in the API server.
func TestStrategicPatch_Kubectl(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods := rapid.Custom(patchedPod)
		last, before, after := asJSON(t, pods.Draw(t, "last")), asJSON(t, pods.Draw(t, "before")), asJSON(t, pods.Draw(t, "after"))
		edit, err := strategicpatch.CreateTwoWayMergePatch(before, after, v1.Pod{})
		require.NoError(t, err)
		samePatch(t, before, edit)
		meta, err := strategicpatch.NewPatchMetaFromStruct(v1.Pod{})
		require.NoError(t, err)
		apply, err := strategicpatch.CreateThreeWayMergePatch(last, after, before, meta, true)
		require.NoError(t, err)
		samePatch(t, before, apply)
	})
}

// samePatch compares what a patch does here and in the API server.
func samePatch(t *rapid.T, before, patch []byte) {
	want, wrong := strategicpatch.StrategicMergePatch(before, patch, v1.Pod{})
	got, err := strategicPatch(before, patch, v1.Pod{})
	if wrong != nil {
		require.Error(t, err, "%s\n%s", before, patch)
		return
	}
	require.NoError(t, err, "%s\n%s", before, patch)
	require.JSONEq(t, string(want), string(got), "%s\n%s", before, patch)
}

func asJSON(t *rapid.T, value any) []byte {
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return text
}

// patchedPod draws a pod with few names, so that two have much in common.
func patchedPod(t *rapid.T) *v1.Pod {
	few := func(what string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4, rapid.ID).Draw(t, what)
	}
	text := rapid.SampledFrom([]string{"", "x", "y"})
	p := &v1.Pod{}
	p.Finalizers = few("finalizers")
	p.Labels = map[string]string{}
	for _, name := range few("labels") {
		p.Labels[name] = text.Draw(t, "label")
	}
	for _, name := range few("volumes") {
		v := v1.Volume{Name: name}
		switch text.Draw(t, "volume") {
		case "x":
			v.EmptyDir = &v1.EmptyDirVolumeSource{Medium: "Memory"}
		case "y":
			v.ConfigMap = &v1.ConfigMapVolumeSource{Items: []v1.KeyToPath{{Key: text.Draw(t, "item"), Path: "p"}}}
		}
		p.Spec.Volumes = append(p.Spec.Volumes, v)
	}
	for _, name := range few("tolerations") {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: name})
	}
	for _, name := range append(few("containers"), "e") { // A pod has at least one.
		c := v1.Container{Name: name, Image: text.Draw(t, "image"), Args: few("args")}
		for _, name := range few("env") {
			c.Env = append(c.Env, v1.EnvVar{Name: name, Value: text.Draw(t, "value")})
		}
		for _, number := range rapid.SliceOfNDistinct(rapid.Int32Range(1, 4), 0, 4, rapid.ID).Draw(t, "ports") {
			c.Ports = append(c.Ports, v1.ContainerPort{ContainerPort: number, Name: text.Draw(t, "port")})
		}
		if text.Draw(t, "security") == "x" {
			c.SecurityContext = &v1.SecurityContext{Capabilities: &v1.Capabilities{Add: []v1.Capability{"X"}}}
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	return p
}
