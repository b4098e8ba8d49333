package podfields

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// Unknown lists the fields that are set in a pod's spec and that classes does not list, at most 100.
// Types of a newer version of the API than this code was written for have such fields. With the types
// of this code's own version there are none, and Unknown costs nothing. It is called when a pod is
// admitted.
func Unknown(pod *v1.Pod) []string {
	if len(unclassed()) == 0 {
		return nil
	}
	u := unknown{listed: classesOf()}
	u.findIn(reflect.ValueOf(&pod.Spec).Elem(), "spec")
	return u.found
}

// unclassed returns the fields of the types in use that classes does not list, as Type.field.
var unclassed = sync.OnceValue(func() []string { return Unclassed(reflect.TypeFor[v1.PodSpec](), classesOf()) })

// classesOf returns the classes by type and field.
var classesOf = sync.OnceValue(func() map[string]map[string]byte {
	table := make(map[string]map[string]byte, len(classes))
	for name, fields := range classes {
		table[name] = map[string]byte{}
		for _, field := range strings.Fields(fields) {
			class := byte(honoured)
			if strings.ContainsRune("-~!", rune(field[0])) {
				class, field = field[0], field[1:]
			}
			table[name][field] = class
		}
	}
	return table
})

// honoured is the class of a field whose own fields are listed.
const honoured = '+'

// Unclassed lists the fields of a type, and of the types in it, that a table lacks, as Type.field. Each
// type is looked at once.
func Unclassed(t reflect.Type, listed map[string]map[string]byte) []string {
	var missing []string
	seen := map[reflect.Type]bool{}
	var look func(t reflect.Type)
	look = func(t reflect.Type) {
		t, _ = element(t)
		if t.Kind() == reflect.Map {
			t, _ = element(t.Elem())
		}
		if t.Kind() != reflect.Struct || readsItself(t) || seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			name := JSONName(t.Field(i))
			class, known := listed[t.Name()][name]
			if name != "" && !known {
				missing = append(missing, t.Name()+"."+name)
			} else if name == "" || class == honoured {
				look(t.Field(i).Type)
			}
		}
	}
	look(t)
	slices.Sort(missing)
	return missing
}

type unknown struct {
	listed map[string]map[string]byte
	found  []string
}

func (u *unknown) findIn(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			u.findIn(v.Elem(), path)
		}
	case reflect.Slice:
		if of, _ := element(v.Type()); of.Kind() == reflect.Struct {
			for i := range v.Len() {
				u.findIn(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		}
	case reflect.Struct:
		if !readsItself(v.Type()) {
			u.findInFields(v, path)
		}
	}
}

func (u *unknown) findInFields(v reflect.Value, path string) {
	for i := range v.NumField() {
		name, field := JSONName(v.Type().Field(i)), v.Field(i)
		class, known := u.listed[v.Type().Name()][name]
		switch {
		case name == "":
			u.findIn(field, path)
		case !known && !field.IsZero() && len(u.found) < maxFound:
			u.found = append(u.found, path+"."+name)
		case class == honoured:
			u.findIn(field, path+"."+name)
		}
	}
}
