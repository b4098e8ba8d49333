package localapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
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

// TestStrategicPatch: the rules of strategic merge patches, as the library has them (LA-1).
func TestStrategicPatch(t *testing.T) {
	for _, c := range strategicPatches {
		t.Run(c.rule, func(t *testing.T) {
			got, err := applyPatch(types.StrategicMergePatchType, []byte(c.before), []byte(c.patch), v1.Pod{})
			if c.after == "" {
				require.ErrorIs(t, err, errPatch)
				return
			}
			require.NoError(t, err)
			assert.JSONEq(t, c.after, string(got))
		})
	}
}

// TestStrategicPatch_Panics (LA-1, LA-4, LA-5): the library answers some of these patches by a panic, and accepts some.
// Each patch is answered, and integers stay exact. Some are accepted in vain.
func TestStrategicPatch_Panics(t *testing.T) {
	const before = `{"metadata":{"finalizers":["a"]},"spec":{"containers":[{"name":"a","ports":[{"containerPort":1}]}]}}`
	for patch, want := range map[string]string{ // The pod is want then; empty: the patch is an error.
		`{"spec":{"containers":[{"name":{}}]}}`: "", `{"spec":{"containers":[{"name":[1]}]}}`: "",
		`{"spec":{"containers":[{"name":null,"$patch":"delete"}]}}`: before, `{"spec":{"containers":[null]}}`: "", `{"spec":{"containers":[{"$patch":{}}]}}`: "",
		`{"metadata":{"finalizers":[{}]}}`: "", `{"metadata":{"finalizers":[["a"]]}}`: "",
		`{"metadata":{"$deleteFromPrimitiveList/finalizers":[{}]}}`: "", `{"metadata":{"$deleteFromPrimitiveList/finalizers":"a"}}`: before,
		`{"spec":{"$retainKeys":[{}],"a":1}}`: "", `{"spec":{"$retainKeys":"a"}}`: "", `{"spec":{"$setElementOrder/containers":[{}],"containers":[{"name":"a"}]}}`: "",
		`{"$patch":{}}`: "", `{"spec":{"$setElementOrder/":[]}}`: "", `[]`: "", `1`: "", ``: "", `null`: before,
	} {
		after, err := applyPatch(types.StrategicMergePatchType, []byte(before), []byte(patch), v1.Pod{})
		assert.Equal(t, want, string(after), patch)
		if want == "" {
			require.ErrorIs(t, err, errPatch, patch)
		}
	}
	for _, number := range []string{"9007199254740993", "9223372036854775807", "-9223372036854775808"} {
		after, err := applyPatch(types.StrategicMergePatchType, []byte(`{"spec":{}}`), []byte(`{"spec":{"terminationGracePeriodSeconds":`+number+`}}`), v1.Pod{})
		require.NoError(t, err)
		assert.Equal(t, `{"spec":{"terminationGracePeriodSeconds":`+number+`}}`, string(after))
	}
}

// listOf is a list of n elements, such as {"name":"c7"}.
func listOf(n int, format string) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, ","+format, i)
	}
	return "[" + all.String()[1:] + "]"
}

// TestStrategicPatch_Bounds (LA-3): a patch cannot have the library compare long lists, whose elements may all
// be in the document.
func TestStrategicPatch_Bounds(t *testing.T) {
	many, few := listOf(maxElements+1, `{"name":"c%d"}`), listOf(maxElements, `{"name":"c%d"}`)
	env := func(list string) string { return `{"spec":{"containers":[{"name":"a","env":` + list + `}]}}` }
	apply := func(before, patch string) error {
		_, err := applyPatch(types.StrategicMergePatchType, []byte(before), []byte(patch), v1.Pod{})
		return err
	}
	const order = `{"spec":{"containers":[{"name":"a","$setElementOrder/env":[{"name":"c7"}]}]}}`
	require.ErrorContains(t, apply(env(many), order), "the patch cannot be applied: a list has more than 1000 elements: use a merge patch")
	require.ErrorContains(t, apply(env("[]"), env(many)), "a list has more than 1000 elements")
	require.NoError(t, apply(env(few), order))
	started := time.Now()
	worst := `{"spec":{"containers":[{"name":"a","$setElementOrder/env":` + few + `,"env":` + few + `}]}}`
	require.NoError(t, apply(env(listOf(maxElements, `{"name":"d%d"}`)), worst))
	t.Log("the worst list takes", time.Since(started))
}

// TestStrategicPatch_Kubectl: a patch as kubectl edit and kubectl apply compute it, of any two pods,
// makes one of the other.
func TestStrategicPatch_Kubectl(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods := rapid.Custom(patchedPod)
		before, after := asJSON(t, pods.Draw(t, "before")), asJSON(t, pods.Draw(t, "after"))
		edit, err := strategicpatch.CreateTwoWayMergePatch(before, after, v1.Pod{})
		require.NoError(t, err)
		meta, err := strategicpatch.NewPatchMetaFromStruct(v1.Pod{})
		require.NoError(t, err)
		apply, err := strategicpatch.CreateThreeWayMergePatch(before, after, before, meta, true)
		require.NoError(t, err)
		for _, patch := range [][]byte{edit, apply} {
			got, err := applyPatch(types.StrategicMergePatchType, before, patch, v1.Pod{})
			require.NoError(t, err, "%s\n%s", before, patch)
			var is, want v1.Pod
			require.NoError(t, errors.Join(json.Unmarshal(got, &is), json.Unmarshal(after, &want)))
			slices.Sort(is.Finalizers) // The order alone of a list of scalars makes no patch.
			slices.Sort(want.Finalizers)
			require.True(t, equality.Semantic.DeepEqual(&want, &is), "%s\n%s\n%s\n%s", before, patch, got, after)
		}
	})
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

// TestJSONPatch (LA-2, LA-5): the operations of RFC 6902, as the library has them, and documents that do not fit.
func TestJSONPatch(t *testing.T) {
	for _, step := range [][3]string{
		{`{"a":1}`, `[{"op":"add","path":"/b","value":[1]},{"op":"add","path":"/b/-","value":2},{"op":"add","path":"/b/0","value":0}]`, `{"a":1,"b":[0,1,2]}`},
		{`{"a":[1,2,3]}`, `[{"op":"remove","path":"/a/1"}]`, `{"a":[1,3]}`},
		{`{"a":[1,2,3]}`, `[{"op":"remove","path":"/a/-1"}]`, `{"a":[1,2]}`},
		{`{"a":[1,{"b":2}]}`, `[{"op":"replace","path":"/a/1/b","value":null}]`, `{"a":[1,{"b":null}]}`},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a/b","path":"/c"},{"op":"copy","from":"/c","path":"/d"}]`, `{"a":{},"c":1,"d":1}`},
		{`{"a/b":{"~":1}}`, `[{"op":"test","path":"/a~1b/~0","value":1},{"op":"remove","path":"/a~1b"}]`, `{}`},
		{`{"a":1}`, `[{"op":"replace","path":"","value":[7]}]`, `[7]`},
		{`{"a":1}`, `[{"op":"add","path":"/c"},{"op":"replace","path":"/d","value":2},{"op":"test","path":"/e","value":null}]`, `{"a":1,"c":null,"d":2}`},
		{`{"a":9223372036854775807,"b":0}`, `[{"op":"test","path":"/a","value":9223372036854775807},{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/c","value":9007199254740993}]`, `{"a":9223372036854775807,"b":9223372036854775807,"c":9007199254740993}`},
		{`{"a":[{"b":1}]}`, `[{"op":"copy","from":"/a/0","path":"/a/-"},{"op":"replace","path":"/a/1/b","value":2}]`, `{"a":[{"b":1},{"b":2}]}`},
		{`{"a":1}`, `[]`, `{"a":1}`},
	} {
		got, err := applyPatch(types.JSONPatchType, []byte(step[0]), []byte(step[1]), nil)
		require.NoError(t, err, step[1])
		assert.Equal(t, step[2], string(got), step[1])
	}
	for _, patch := range []string{
		`[{"op":"test","path":"/a/0","value":2}]`, `[{"op":"remove","path":"/a/1"}]`, `[{"op":"remove","path":"/a/-"}]`, `[{"op":"add","path":"/a/2","value":1}]`,
		`[{"op":"add","path":"/b/c","value":1}]`, `[{"op":"none","path":"/a"}]`, `[{"op":"replace","path":"","value":7}]`,
		`[{"op":"add","path":"/a/0/x","value":1}]`, `[{"op":"copy","from":"/none/x","path":"/c"}]`, `[{"op":"move","from":"/a/9","path":"/c"}]`,
		`{}`, `[1]`, `[{"path":"/a"}]`, `[{"op":"add"}]`, `[{"op":"replace","path":""}]`, `[{"op":"copy","path":"/a"}]`, `[{"op":"remove","path":"/a/-3"}]`,
		`[{"op":"replace","path":"/a/7","value":1}]`, `[null]`, `[`, ``,
	} {
		_, err := applyPatch(types.JSONPatchType, []byte(`{"a":[1]}`), []byte(patch), nil)
		assert.ErrorIs(t, err, errPatch, patch)
	}
}

// TestJSONPatch_Bounds (LA-3): copies of copies fill neither the memory nor the stack, however short the patch
// is, and the worst patch of the longest body is answered soon.
func TestJSONPatch_Bounds(t *testing.T) {
	apply := func(before string, operations ...string) error {
		_, err := applyPatch(types.JSONPatchType, []byte(before), []byte("["+strings.Join(operations, ",")+"]"), nil)
		return err
	}
	double := slices.Repeat([]string{`{"op":"copy","from":"/a","path":"/a/-"}`}, maxCopies)
	require.ErrorContains(t, apply(`{"a":["0123456789"]}`, double...), "the result has more than 1048576 bytes")
	require.ErrorContains(t, apply(`{"a":["0"],"b":0}`, slices.Repeat([]string{`{"op":"copy","from":"/b","path":"/a/0"}`}, maxCopies+1)...), "more than 50 copy and move operations")
	require.ErrorContains(t, apply(`{}`, `{"op":"add","path":"`+strings.Repeat("/", maxPathLevels+1)+`","value":1}`), "a path of more than 20 levels")
	require.ErrorContains(t, apply(`{}`, `{"op":"move","from":"`+strings.Repeat("/", maxPathLevels+1)+`","path":"/a"}`), "a path of more than 20 levels")
	deep := strings.Repeat(`{"x":`, 90) + "0" + strings.Repeat("}", 90)
	under := strings.Repeat("/x", 15)
	for _, op := range []string{"copy", "move"} {
		require.ErrorContains(t, apply(`{"a":`+deep+`,"b":`+deep+`}`, `{"op":"`+op+`","from":"/a","path":"/b`+under+`"}`), "the result has more than 100 levels")
	}
	// A copy far beneath a long text writes the text once for each level.
	beneath := strings.Repeat("/x", maxPathLevels-1)
	long := strings.Repeat(`{"x":`, maxPathLevels-1) + `{"s":"` + strings.Repeat("s", maxMeasuredBytes/maxCopies) + `","n":1}` + strings.Repeat("}", maxPathLevels-1)
	far := slices.Repeat([]string{`{"op":"copy","from":"` + beneath + `/n","path":"` + beneath + `/m"}`}, maxCopies)
	started := time.Now()
	require.ErrorContains(t, apply(long, far...), "too many copy and move operations for a document of this size")
	t.Log("copies far beneath a long text take", time.Since(started))
	tests := slices.Repeat([]string{`{"op":"test","path":"/a","value":1}`}, maxOperations)
	require.NoError(t, apply(`{"a":1}`, tests...))
	require.ErrorContains(t, apply(`{"a":1}`, append(tests, tests[0])...), "more than 10000 operations")
	started = time.Now()
	large := `{"a":` + listOf(maxValues, `1%05d`) + `,"b":"` + strings.Repeat("x", maxPodBytes-200_000) + `"}`
	require.NoError(t, apply(large, slices.Repeat([]string{`{"op":"copy","from":"/a/0","path":"/a/1"}`}, maxMeasuredBytes/(maxPodBytes+1000))...))
	t.Log("copies in the largest pod take", time.Since(started))
	started = time.Now()
	require.NoError(t, apply(large, slices.Repeat([]string{`{"op":"add","path":"/a/1","value":0}`, `{"op":"remove","path":"/a/0"}`}, maxOperations/20)...))
	t.Log("a tenth of the most additions to the longest list takes", time.Since(started))
}

// TestPatch_Message (LA-3): an error has no copy of the pod in it, however the library words it.
func TestPatch_Message(t *testing.T) {
	before := `{"spec":{"containers":[{"name":"a","image":"` + strings.Repeat("ü", maxMessageBytes) + `"}]}}`
	_, err := applyPatch(types.StrategicMergePatchType, []byte(before), []byte(`{"spec":{"containers":["a"]}}`), v1.Pod{})
	require.ErrorIs(t, err, errPatch)
	require.ErrorContains(t, err, "the patch cannot be applied: list element types are not identical")
	assert.LessOrEqual(t, len(err.Error()), maxMessageBytes+100)
	assert.True(t, utf8.ValidString(err.Error()))
}

// TestMergePatch (LA-2, LA-3, LA-5): null removes, an object merges, anything else replaces (RFC 7386).
func TestMergePatch(t *testing.T) {
	for _, step := range [][3]string{
		{`{"a":1,"b":{"c":1,"d":2}}`, `{"a":null,"b":{"c":null,"e":[1]}}`, `{"b":{"d":2,"e":[1]}}`},
		{`{"a":[1]}`, `{"a":{"b":null,"c":1}}`, `{"a":{"c":1}}`},
		{`{}`, `[1]`, `[1]`},
		{`{"a":9223372036854775807}`, `{"b":9007199254740993}`, `{"a":9223372036854775807,"b":9007199254740993}`},
	} {
		got, err := applyPatch(types.MergePatchType, []byte(step[0]), []byte(step[1]), nil)
		require.NoError(t, err)
		assert.Equal(t, step[2], string(got))
	}
	for _, patch := range []string{`1`, `null`, `"a"`, `{`, ``, `{"a":"` + strings.Repeat("x", maxBodyBytes) + `"}`} {
		_, err := applyPatch(types.MergePatchType, []byte(`{"a":1}`), []byte(patch), nil)
		require.ErrorIs(t, err, errPatch)
	}
}
