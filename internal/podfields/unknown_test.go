package podfields

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Each field of each type in a pod's spec is classed, and no other one: a field of a new version of
// the API fails this test until somebody has decided what it does here, and written it into FIELDS.md.
func TestClasses_Complete(t *testing.T) {
	assert.Empty(t, UnlistedFields(reflect.TypeFor[v1.PodSpec](), parsedClasses()), "classes.go lacks them")

	types := map[string]reflect.Type{}
	var look func(t reflect.Type)
	look = func(t reflect.Type) {
		if t, _ = stripPointersAndSlices(t); t.Kind() == reflect.Map {
			t, _ = stripPointersAndSlices(t.Elem())
		}
		if t.Kind() == reflect.Struct && types[t.Name()] == nil {
			types[t.Name()] = t
			for i := range t.NumField() {
				look(t.Field(i).Type)
			}
		}
	}
	look(reflect.TypeFor[v1.PodSpec]())
	for name, fields := range parsedClasses() {
		for field := range fields {
			found := false
			for i := range types[name].NumField() {
				found = found || JSONName(types[name].Field(i)) == field
			}
			assert.True(t, found, "classes.go has %s.%s, which the API lacks", name, field)
		}
	}
}

// TestClasses_AgreeWithFIELDS: classes.go has the fields inside each field that works by FIELDS.md. Behind a
// field of the class that refuses pods Unknown looks at nothing, so a field of a newer version in it would be
// ignored.
func TestClasses_AgreeWithFIELDS(t *testing.T) {
	text, err := os.ReadFile("../../podworkers/podsync/FIELDS.md")
	require.NoError(t, err)
	checked := 0
	for row := range strings.Lines(string(text)) {
		cells := strings.Split(row, " | ")
		if len(cells) < 2 || strings.TrimSpace(cells[1]) != "works" {
			continue
		}
		prefix := ""
		for _, m := range regexp.MustCompile("`([^` ]+)`").FindAllStringSubmatch(cells[0], -1) {
			path := m[1]
			if strings.HasPrefix(path, ".") {
				path = prefix + path
			} else if i := strings.LastIndexByte(path, '.'); i > 0 {
				prefix = path[:i]
			}
			checked++
			assert.Empty(t, refusedPart(reflect.TypeFor[v1.PodSpec](), strings.Split(path, ".")), "FIELDS.md says that %s works", path)
		}
	}
	assert.Greater(t, checked, 60)
}

// refusedPart returns the first field of a path whose class refuses the pod.
func refusedPart(t reflect.Type, path []string) string {
	t, _ = stripPointersAndSlices(t)
	if len(path) == 0 || t.Kind() != reflect.Struct {
		return ""
	}
	name := strings.TrimSuffix(path[0], "[]")
	for _, f := range reflect.VisibleFields(t) {
		if JSONName(f) != name {
			continue
		}
		owner := t
		for _, i := range f.Index[:len(f.Index)-1] {
			owner, _ = stripPointersAndSlices(owner.Field(i).Type)
		}
		if parsedClasses()[owner.Name()][name] == '!' {
			return owner.Name() + "." + name
		}
		return refusedPart(f.Type, path[1:])
	}
	return ""
}

// The types of a newer API, with fields that the table lacks.
type (
	newerMount struct {
		Name    string   `json:"name"`
		Options []string `json:"bindMountOptions"`
	}
	newerContainer struct {
		Mounts  []newerMount `json:"volumeMounts"`
		Devices []newerMount `json:"volumeDevices"`
	}
	newerSpec struct {
		newerContainer `json:""`
		Containers     []*newerContainer `json:"containers"`
		Number         *int32            `json:"number"`
		Responders     []newerMount      `json:"evictionResponders"`
	}
)

// With the types of a newer API each field that is set and not listed is found, whatever its kind.
func TestUnknown(t *testing.T) {
	listed := map[string]map[string]byte{
		"newerMount": {"name": '+'}, "newerContainer": {"volumeMounts": '+', "volumeDevices": '!'}, "newerSpec": {"containers": '+'},
	}
	assert.Equal(t, []string{"newerMount.bindMountOptions", "newerSpec.evictionResponders", "newerSpec.number"}, UnlistedFields(reflect.TypeFor[newerSpec](), listed))

	mounts := []newerMount{{Name: "a"}, {Name: "b", Options: []string{"noexec"}}}
	spec := newerSpec{
		newerContainer: newerContainer{Mounts: mounts}, Containers: []*newerContainer{{Devices: mounts}, {Mounts: mounts}},
		Number: new(int32), Responders: mounts[:1],
	}
	u := unknownFinder{listed: listed}
	u.collectInValue(reflect.ValueOf(&spec).Elem(), "spec")
	assert.Equal(t, []string{
		"spec.volumeMounts[1].bindMountOptions", "spec.containers[1].volumeMounts[1].bindMountOptions", "spec.number", "spec.evictionResponders",
	}, u.found)

	u = unknownFinder{listed: listed}
	u.collectInValue(reflect.ValueOf(&newerSpec{Containers: []*newerContainer{nil, {Mounts: mounts[:1]}}}).Elem(), "spec")
	assert.Empty(t, u.found, "what is not set is not missed")
	assert.Empty(t, Unknown(&v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}}))
}
