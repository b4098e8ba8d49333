package podfields

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// field is one that a newer version of the API has.
type field struct {
	since  string // the first version of Kubernetes that has it, such as 1.37
	number int    // its number in protobuf
}

// Newer reports whether a path leads to a field that a newer version of the API has and the
// types of this build's oldest version lack, and since which version of Kubernetes, such as
// "1.37".
// A path is written as in messages about a pod: spec.containers[0].volumeMounts[1].name.
// The field's own fields count as well. A caller asks about fields that its types lack.
func Newer(path string) (since string, is bool) {
	generic := withoutIndexes(path)
	for {
		if field, is := newer[generic]; is {
			return field.since, true
		}
		end := strings.LastIndexAny(generic, ".[")
		if end < 0 {
			return "", false
		}
		generic = generic[:end]
	}
}

// IsName reports whether a field that [Newer] knows has this name: whether it is worth to ask for
// its path.
func IsName(name string) bool { return newerNames()[name] }

var newerNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for path := range newer {
		names[path[strings.LastIndex(path, ".")+1:]] = true
	}
	return names
})

// withoutIndexes is a path without the numbers of items: spec.containers[].name.
func withoutIndexes(path string) string {
	var out strings.Builder
	for rest := path; ; {
		before, after, found := strings.Cut(rest, "[")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		_, rest, _ = strings.Cut(after, "]")
		out.WriteString("[]")
	}
}

// Paths lists the paths of all fields that a type of the API has, sorted. An item of a list
// is written as [], as in spec.containers[].name. Types that read themselves, such as
// quantities and times, are one field, and so are maps.
func Paths(t reflect.Type) []string {
	var found []string
	for path := range pathsOf(t, "", nil) {
		found = append(found, path)
	}
	slices.Sort(found)
	return found
}

// pathsOf adds the paths beneath one path. above are the types that it lies in: one that
// holds itself is not followed.
func pathsOf(t reflect.Type, at string, above []reflect.Type) map[string]bool {
	found := map[string]bool{}
	t, list := element(t)
	if list {
		at += "[]"
	}
	if t.Kind() != reflect.Struct || readsItself(t) || slices.Contains(above, t) {
		return found
	}
	above = append(slices.Clone(above), t)
	for i := range t.NumField() {
		field := t.Field(i)
		path := join(at, JSONName(field))
		switch name := JSONName(field); {
		case name == "-" || !field.IsExported() && !field.Anonymous:
			continue
		case name == "" && field.Anonymous:
			path = at
		default:
			found[path] = true
		}
		for inner := range pathsOf(field.Type, path, above) {
			found[inner] = true
		}
	}
	return found
}

// element is the type of the items of a list, or what a pointer points to, or the type itself.
func element(t reflect.Type) (of reflect.Type, list bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		list = list || t.Kind() == reflect.Slice
		t = t.Elem()
	}
	return t, list
}

func readsItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// JSONName is the name of a struct's field in a document. It is empty for an embedded struct.
func JSONName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
