package localapi

import (
	"path"
	"reflect"
	"strings"
)

// schemas are those of a document of OpenAPI, by name. They are made of the types themselves.
type schemas map[string]map[string]any

// reference is where what the fields of a type mean can be read. The texts are not in the
// document: they would be larger than the rest of this package.
const reference = "https://kubernetes.io/docs/reference/generated/kubernetes-api/"

// description of a struct says where its fields are described.
func description(t reflect.Type) string {
	minor := Version[:strings.LastIndex(Version, ".")]
	group := map[string]string{"core": "core", "meta": "meta", "coordination": "coordination-k8s-io"}[path.Base(path.Dir(t.PkgPath()))]
	return "What the fields mean: " + reference + minor + "/#" + strings.ToLower(t.Name()) + "-v1-" + group
}

// scalars are the types that are shown as something else than what they are made of.
var scalars = map[string]map[string]any{
	"v1.Time":            {"type": "string", "format": "date-time"},
	"v1.MicroTime":       {"type": "string", "format": "date-time"},
	"resource.Quantity":  {"type": "string"},
	"intstr.IntOrString": {"type": "string", "format": "int-or-string"},
	"v1.FieldsV1":        {"type": "object"},
}

// kind adds the schema of an object's type, and those of its fields.
func (s schemas) kind(o any, kind map[string]any) {
	t := reflect.TypeOf(o).Elem()
	s.of(t)
	s[schemaName(t)]["x-kubernetes-group-version-kind"] = []any{kind}
}

// of is the schema of a type, or a reference to it.
func (s schemas) of(t reflect.Type) map[string]any {
	if scalar, ok := scalars[t.String()]; ok {
		return scalar
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "format": "byte"}
		}
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		s.add(t)
		return map[string]any{"$ref": "#/components/schemas/" + schemaName(t)}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer", "format": t.Kind().String()}
	}
	return map[string]any{"type": "string"}
}

// add adds the schema of a struct, once.
func (s schemas) add(t reflect.Type) {
	name := schemaName(t)
	if s[name] != nil {
		return
	}
	properties := map[string]any{}
	one := map[string]any{"type": "object", "description": description(t), "properties": properties}
	s[name] = one // Before its fields, which may be of the same type.
	if required := s.fields(t, properties); len(required) > 0 {
		one["required"] = required
	}
}

// fields adds the fields of a struct to properties, and returns those that are required.
func (s schemas) fields(t reflect.Type, properties map[string]any) (required []string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, rest, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous: // It is inline.
			required = append(required, s.fields(field.Type, properties)...)
			continue
		case !strings.Contains(rest, "omitempty"):
			required = append(required, name)
		}
		property := s.of(field.Type)
		if property["$ref"] != nil { // A reference has nothing beside it.
			property = map[string]any{"allOf": []any{property}, "default": map[string]any{}}
		}
		properties[name] = property
	}
	return required
}

// schemaName is the name by which a type is known elsewhere: io.k8s.api.core.v1.Pod.
func schemaName(t reflect.Type) string {
	path := strings.NewReplacer("k8s.io/", "io.k8s.", "/", ".").Replace(t.PkgPath())
	return path + "." + t.Name()
}
