package localapi

import (
	"path"
	"reflect"
	"strings"
)

// schemas are the OpenAPI schemas of a document, by name. They are generated from the Go types.
type schemas map[string]map[string]any

// referenceURL is the page that describes the fields. The document has no descriptions, because they would be larger
// than the rest of this package.
const referenceURL = "https://kubernetes.io/docs/reference/generated/kubernetes-api/"

// structDocLink returns a sentence with a link to the Kubernetes documentation of a struct's fields.
func structDocLink(t reflect.Type) string {
	minor := Version[:strings.LastIndex(Version, ".")]
	group := map[string]string{"core": "core", "meta": "meta", "coordination": "coordination-k8s-io"}[path.Base(path.Dir(t.PkgPath()))]
	return "What the fields mean: " + referenceURL + minor + "/#" + strings.ToLower(t.Name()) + "-v1-" + group
}

// scalarSchemas are the schemas of types whose JSON differs from their Go structure.
var scalarSchemas = map[string]map[string]any{
	"v1.Time":            {"type": "string", "format": "date-time"},
	"v1.MicroTime":       {"type": "string", "format": "date-time"},
	"resource.Quantity":  {"type": "string"},
	"intstr.IntOrString": {"type": "string", "format": "int-or-string"},
	"v1.FieldsV1":        {"type": "object"},
}

// addKind adds the schemas of an object's type and of all types in its fields, and sets the Kubernetes kind of
// the object's schema.
func (s schemas) addKind(o any, kind map[string]any) {
	t := reflect.TypeOf(o).Elem()
	s.schemaOf(t)
	s[schemaName(t)]["x-kubernetes-group-version-kind"] = []any{kind}
}

// schemaOf returns the OpenAPI schema of a type. For a struct it adds the struct's schema and returns a
// reference to it.
func (s schemas) schemaOf(t reflect.Type) map[string]any {
	if scalar, ok := scalarSchemas[t.String()]; ok {
		return scalar
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.schemaOf(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "format": "byte"}
		}
		return map[string]any{"type": "array", "items": s.schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.schemaOf(t.Elem())}
	case reflect.Struct:
		s.addStruct(t)
		return map[string]any{"$ref": "#/components/schemas/" + schemaName(t)}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer", "format": t.Kind().String()}
	}
	return map[string]any{"type": "string"}
}

// addStruct adds the schema of a struct, and the schemas of its fields' types, unless the struct has one
// already.
func (s schemas) addStruct(t reflect.Type) {
	name := schemaName(t)
	if s[name] != nil {
		return
	}
	properties := map[string]any{}
	one := map[string]any{"type": "object", "description": structDocLink(t), "properties": properties}
	s[name] = one // Before its fields, which may have the same type.
	if required := s.addFields(t, properties); len(required) > 0 {
		one["required"] = required
	}
}

// addFields adds the schemas of a struct's fields, and of its inlined structs' fields, to properties. It
// returns the names of the required fields, which have no omitempty.
func (s schemas) addFields(t reflect.Type, properties map[string]any) (required []string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, rest, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous: // The field is inlined.
			required = append(required, s.addFields(field.Type, properties)...)
			continue
		case !strings.Contains(rest, "omitempty"):
			required = append(required, name)
		}
		property := s.schemaOf(field.Type)
		if property["$ref"] != nil { // A schema with $ref has no other keys.
			property = map[string]any{"allOf": []any{property}, "default": map[string]any{}}
		}
		properties[name] = property
	}
	return required
}

// schemaName returns the OpenAPI name of a type, such as io.k8s.api.core.v1.Pod.
func schemaName(t reflect.Type) string {
	path := strings.NewReplacer("k8s.io/", "io.k8s.", "/", ".").Replace(t.PkgPath())
	return path + "." + t.Name()
}
