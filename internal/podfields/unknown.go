package podfields

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// Unknown lists the fields that a pod's spec sets and that classes does not list, at most 100. Such fields exist only
// if the program is built with API types newer than this code. With older types Unknown costs nothing. It is called
// when a pod is admitted.
func Unknown(pod *v1.Pod) []string {
	if len(unclassifiedFields()) == 0 {
		return nil
	}
	u := unknownFinder{listed: parsedClasses()}
	u.collectInValue(reflect.ValueOf(&pod.Spec).Elem(), "spec")
	return u.found
}

// unclassifiedFields returns the fields of the API types in use that classes does not list, as Type.field.
var unclassifiedFields = sync.OnceValue(func() []string { return UnlistedFields(reflect.TypeFor[v1.PodSpec](), parsedClasses()) })

// parsedClasses returns the class of each field, by type and field name.
var parsedClasses = sync.OnceValue(func() map[string]map[string]byte {
	table := make(map[string]map[string]byte, len(classes))
	for name, fields := range classes {
		table[name] = map[string]byte{}
		for _, field := range strings.Fields(fields) {
			class := byte(classHonoured)
			if strings.ContainsRune("-~!", rune(field[0])) {
				class, field = field[0], field[1:]
			}
			table[name][field] = class
		}
	}
	return table
})

// classHonoured is the class of a field that has its effect. The fields inside it are listed too.
const classHonoured = '+'

// UnlistedFields returns the fields of a type, and of the types in it, that the table lacks, as Type.field. It visits
// each type once.
func UnlistedFields(t reflect.Type, listed map[string]map[string]byte) []string {
	var missing []string
	seen := map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		t, _ = stripPointersAndSlices(t)
		if t.Kind() == reflect.Map {
			t, _ = stripPointersAndSlices(t.Elem())
		}
		if t.Kind() != reflect.Struct || hasUnmarshalJSON(t) || seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			name := JSONName(t.Field(i))
			class, known := listed[t.Name()][name]
			if name != "" && !known {
				missing = append(missing, t.Name()+"."+name)
			} else if name == "" || class == classHonoured {
				visit(t.Field(i).Type)
			}
		}
	}
	visit(t)
	slices.Sort(missing)
	return missing
}

// unknownFinder collects the fields of a value that the table lacks.
type unknownFinder struct {
	listed map[string]map[string]byte
	found  []string
}

// collectInValue collects the set fields in a value that the table of known fields does not list. It does not
// search in maps, nor in types with an UnmarshalJSON method.
func (u *unknownFinder) collectInValue(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			u.collectInValue(v.Elem(), path)
		}
	case reflect.Slice:
		if of, _ := stripPointersAndSlices(v.Type()); of.Kind() == reflect.Struct {
			for i := range v.Len() {
				u.collectInValue(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		}
	case reflect.Struct:
		if !hasUnmarshalJSON(v.Type()) {
			u.collectInStruct(v, path)
		}
	}
}

// collectInStruct collects the set fields of a struct that the table of known fields does not list. It also
// searches in the values of those fields that the table marks as honoured.
func (u *unknownFinder) collectInStruct(v reflect.Value, path string) {
	for i := range v.NumField() {
		name, field := JSONName(v.Type().Field(i)), v.Field(i)
		class, known := u.listed[v.Type().Name()][name]
		switch {
		case name == "":
			u.collectInValue(field, path)
		case !known && !field.IsZero() && len(u.found) < maxFound:
			u.found = append(u.found, path+"."+name)
		case class == classHonoured:
			u.collectInValue(field, path+"."+name)
		}
	}
}
