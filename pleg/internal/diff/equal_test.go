package diff_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/pleg/internal/diff"
	"github.com/podkeel/podkeel/runtime"
)

// Nil is equal to a status without records, and to no other status.
func TestEqual_NoStatus(t *testing.T) {
	none := &runtime.PodStatus{UID: "a"}
	sandboxed := &runtime.PodStatus{UID: "a", Sandboxes: make([]runtime.SandboxStatus, 1)}
	contained := &runtime.PodStatus{UID: "a", Containers: make([]runtime.ContainerStatus, 1)}
	for _, tc := range []struct {
		a, b *runtime.PodStatus
		want bool
	}{{nil, nil, true}, {nil, none, true}, {nil, sandboxed, false}, {nil, contained, false}} {
		assert.Equal(t, tc.want, diff.Equal(tc.a, tc.b))
		assert.Equal(t, tc.want, diff.Equal(tc.b, tc.a))
		assert.Equal(t, tc.want, diff.Empty(tc.b), "it shows a record, or none")
	}
}

// A difference in a single field of a status, a sandbox or a container makes them unequal. The
// fields are found by reflection, so a new field that is not compared fails the test.
func TestEqual_EveryFieldCounts(t *testing.T) {
	status := func() *runtime.PodStatus {
		return &runtime.PodStatus{UID: "a", Sandboxes: make([]runtime.SandboxStatus, 1), Containers: []runtime.ContainerStatus{{Resources: &runtime.Resources{}, User: &runtime.LinuxContainerUser{}}}}
	}
	for what, part := range map[string]func(*runtime.PodStatus) reflect.Value{
		"PodStatus":       func(st *runtime.PodStatus) reflect.Value { return reflect.ValueOf(st).Elem() },
		"SandboxStatus":   func(st *runtime.PodStatus) reflect.Value { return reflect.ValueOf(&st.Sandboxes[0]).Elem() },
		"Resources":       func(st *runtime.PodStatus) reflect.Value { return reflect.ValueOf(st.Containers[0].Resources).Elem() },
		"User":            func(st *runtime.PodStatus) reflect.Value { return reflect.ValueOf(st.Containers[0].User).Elem() },
		"ContainerStatus": func(st *runtime.PodStatus) reflect.Value { return reflect.ValueOf(&st.Containers[0]).Elem() },
	} {
		for _, field := range reflect.VisibleFields(part(status()).Type()) {
			if field.Anonymous {
				continue // Its fields are tested one by one.
			}
			a, b := status(), status()
			assert.True(t, diff.Equal(a, b), "%s.%s", what, field.Name)
			changeValue(t, part(b).FieldByIndex(field.Index))
			assert.False(t, diff.Equal(a, b), "%s.%s", what, field.Name)
			assert.False(t, diff.Equal(b, a), "%s.%s", what, field.Name)
		}
	}
}

// changeValue sets a zero value, or a list of one, to another value.
func changeValue(t *testing.T, v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(1, 0)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("other")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case reflect.Pointer:
		v.SetZero()
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		changeValue(t, value)
		v.SetMapIndex(reflect.ValueOf("key"), value)
	default:
		t.Fatalf("a %s of another value is to be written here", v.Type())
	}
}
