package nodetest_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// TestHotLoop_EveryFieldReportedWrongly: a runtime whose PodStatus reports a field
// of sandboxes or containers wrongly, for ever, is not driven in a circle.
func TestHotLoop_EveryFieldReportedWrongly(t *testing.T) {
	base := &baselines{}
	for _, l := range allLies() {
		playEachKind(t, base, l.name, oneBackoff, cell{lie: l.tell})
	}
}

// TestHotLoop_EveryFieldReportedOtherwiseEachTime: a runtime that shows another thing
// each time it is asked, which the node does again because of that, is asked a few
// times a second.
func TestHotLoop_EveryFieldReportedOtherwiseEachTime(t *testing.T) {
	const mostAsked = 5000 // About two pods, in a bit more than five minutes.
	for _, l := range allLies() {
		for _, events := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/events %t", l.name, events), func(t *testing.T) {
				t.Parallel()
				asked := 0
				c := cell{shape: "two", policy: v1.RestartPolicyAlways, events: events, lie: func(st *runtime.PodStatus) {
					if asked++; asked%2 == 0 {
						l.tell(st)
					}
				}}
				require.Empty(t, c.playCell(t).spins)
				require.Less(t, asked, mostAsked)
			})
		}
	}
}

// lie is one field reported wrongly.
type lie struct {
	name string
	tell func(*runtime.PodStatus)
}

// allLies returns a lie for each field of a status. It finds the fields by reflection, so that a new field is a new
// lie.
func allLies() []lie {
	var all []lie
	for _, f := range structFields(reflect.TypeFor[runtime.SandboxStatus](), nil) {
		for _, w := range wrongValues(f.Type) {
			all = append(all, lie{"Sandbox/" + f.Name + "/" + w.name, func(st *runtime.PodStatus) {
				for i := range st.Sandboxes {
					w.set(reflect.ValueOf(&st.Sandboxes[i]).Elem().FieldByIndex(f.Index))
				}
			}})
		}
	}
	for _, f := range structFields(reflect.TypeFor[runtime.ContainerStatus](), nil) {
		for _, w := range wrongValues(f.Type) {
			all = append(all, lie{"Container/" + f.Name + "/" + w.name, func(st *runtime.PodStatus) {
				for i := range st.Containers {
					w.set(reflect.ValueOf(&st.Containers[i]).Elem().FieldByIndex(f.Index))
				}
			}})
		}
	}
	for _, f := range structFields(reflect.TypeFor[runtime.PodStatus](), nil) {
		for _, w := range wrongValues(f.Type) {
			all = append(all, lie{"Pod/" + f.Name + "/" + w.name, func(st *runtime.PodStatus) {
				w.set(reflect.ValueOf(st).Elem().FieldByIndex(f.Index))
			}})
		}
	}
	return all
}

// structFields returns the fields of a struct and of its embedded structs.
func structFields(t reflect.Type, index []int) []reflect.StructField {
	var all []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		f.Index = append(slices.Clone(index), i)
		if f.Anonymous {
			all = append(all, structFields(f.Type, f.Index)...)
			continue
		}
		all = append(all, f)
	}
	return all
}

// wrong is a way to be wrong.
type wrong struct {
	name string
	set  func(reflect.Value)
}

// wrongValues returns the ways in which a value of a type can be wrong. It fails for an unknown type, so that its
// author adds the ways.
func wrongValues(t reflect.Type) []wrong {
	none := wrong{"zero", func(v reflect.Value) { v.SetZero() }}
	switch {
	case t == reflect.TypeFor[runtime.State]():
		var all []wrong
		for s := runtime.StateUnknown; s <= runtime.StateExited; s++ {
			all = append(all, wrong{s.String(), func(v reflect.Value) { v.Set(reflect.ValueOf(s)) }})
		}
		return all
	case t == reflect.TypeFor[time.Time]():
		moved := func(d time.Duration) func(reflect.Value) {
			return func(v reflect.Value) { v.Set(reflect.ValueOf(v.Interface().(time.Time).Add(d))) }
		}
		return []wrong{none, {"ahead", moved(time.Hour)}, {"behind", moved(-time.Hour)}}
	case t == reflect.TypeFor[map[string]string]():
		return []wrong{none, {"other", func(v reflect.Value) {
			other := map[string]string{}
			for key, value := range v.Interface().(map[string]string) {
				if n := len(value); n > 0 {
					other[key] = value[:n-1] + string(rune('0'+(value[n-1]+1)%8))
				}
			}
			v.Set(reflect.ValueOf(other))
		}}}
	}
	if t == reflect.TypeFor[*runtime.Resources]() {
		return []wrong{none, {"other", func(v reflect.Value) {
			var other runtime.Resources
			if r := v.Interface().(*runtime.Resources); r != nil {
				other = *r
			}
			other.CPUShares, other.MemoryBytes = other.CPUShares+100, other.MemoryBytes+1
			v.Set(reflect.ValueOf(&other))
		}}}
	}
	if t == reflect.TypeFor[*runtime.LinuxContainerUser]() {
		user := func(groups ...int64) func(reflect.Value) {
			return func(v reflect.Value) {
				v.Set(reflect.ValueOf(&runtime.LinuxContainerUser{UID: groups[0], GID: 2, SupplementalGroups: groups}))
			}
		}
		return []wrong{none, {"other", user(2, 3)}, {"other groups", user(2, 4)}}
	}
	switch t.Kind() {
	case reflect.String:
		return []wrong{none, {"other", func(v reflect.Value) { v.SetString("other-" + v.String()) }}}
	case reflect.Bool:
		return []wrong{{"not", func(v reflect.Value) { v.SetBool(!v.Bool()) }}}
	case reflect.Uint32, reflect.Uint64:
		return []wrong{none, {"more", func(v reflect.Value) { v.SetUint(v.Uint() + 1) }}}
	case reflect.Int32:
		return []wrong{none, {"more", func(v reflect.Value) { v.SetInt(v.Int() + 1) }}}
	case reflect.Slice:
		other := wrong{"other", func(v reflect.Value) {
			if t.Elem().Kind() == reflect.String {
				v.Set(reflect.ValueOf([]string{"192.0.2.1"}))
			}
		}}
		if t.Elem().Kind() != reflect.String {
			return []wrong{none}
		}
		return []wrong{none, other}
	}
	panic(fmt.Sprintf("how can a %s be wrong?", t))
}
