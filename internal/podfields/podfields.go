package podfields

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// newerField is a field that a newer version of the API has.
type newerField struct {
	since  string // the first version of Kubernetes that has it, such as 1.37
	number int    // its protobuf number
}

// Newer reports whether a path leads to a field that a newer version of the API has and the oldest types of this build
// lack. It also returns the first version of Kubernetes with the field, such as "1.37". The path has the form of
// messages about a pod: spec.containers[0].volumeMounts[1].name. A path inside a newer field counts too. Callers pass
// only fields that their types lack.
func Newer(path string) (since string, found bool) {
	pattern := emptyIndexes(path)
	for {
		if field, found := newer[pattern]; found {
			return field.since, true
		}
		end := strings.LastIndexAny(pattern, ".[")
		if end < 0 {
			return "", false
		}
		pattern = pattern[:end]
	}
}

// IsName reports whether a field that [Newer] knows has this name. It is a cheap test before a caller builds the path.
func IsName(name string) bool { return newerNames()[name] }

// newerNames returns the last elements of the paths of all newer fields.
var newerNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for path := range newer {
		names[path[strings.LastIndex(path, ".")+1:]] = true
	}
	return names
})

// emptyIndexes empties the brackets in a path: spec.containers[0].name becomes spec.containers[].name.
func emptyIndexes(path string) string {
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

// Paths lists the paths of all fields of an API type, sorted. An item of a list is written as [], as in
// spec.containers[].name. A map, and a type with an UnmarshalJSON method such as a quantity, is one field.
func Paths(t reflect.Type) []string {
	var found []string
	for path := range collectPaths(t, "", nil) {
		found = append(found, path)
	}
	slices.Sort(found)
	return found
}

// collectPaths returns the set of the JSON paths of the fields of t and of the types in it, with prefix in
// front. Unexported fields, and types with an UnmarshalJSON method, have no paths. ancestors are the types
// around t. It does not visit a type inside itself again.
func collectPaths(t reflect.Type, prefix string, ancestors []reflect.Type) map[string]bool {
	found := map[string]bool{}
	t, list := stripPointersAndSlices(t)
	if list {
		prefix += "[]"
	}
	if t.Kind() != reflect.Struct || hasUnmarshalJSON(t) || slices.Contains(ancestors, t) {
		return found
	}
	ancestors = append(slices.Clone(ancestors), t)
	for i := range t.NumField() {
		field := t.Field(i)
		path := joinPath(prefix, JSONName(field))
		switch name := JSONName(field); {
		case name == "-" || !field.IsExported() && !field.Anonymous:
			continue
		case name == "" && field.Anonymous:
			path = prefix
		default:
			found[path] = true
		}
		for inner := range collectPaths(field.Type, path, ancestors) {
			found[inner] = true
		}
	}
	return found
}

// stripPointersAndSlices returns the element type below all pointers and slices of t. list reports whether t
// had a slice.
func stripPointersAndSlices(t reflect.Type) (elem reflect.Type, list bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		list = list || t.Kind() == reflect.Slice
		t = t.Elem()
	}
	return t, list
}

// hasUnmarshalJSON reports whether a pointer to the type has an UnmarshalJSON method.
func hasUnmarshalJSON(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// JSONName returns the JSON name of a struct field. It is empty for an embedded struct.
func JSONName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// joinPath returns parent and name with a dot between them, or name if parent is "".
func joinPath(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}
