package manifest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// schema compares a document with the Go type it is to become, strictly: every
// unknown field and every value of a wrong kind is a fault with its path (F7).
type schema struct {
	doc    *value
	faults Faults
	types  map[reflect.Type]map[string]reflect.Type // fields of the structs met so far
}

func newSchema(doc *value) *schema {
	return &schema{doc: doc, types: map[reflect.Type]map[string]reflect.Type{}}
}

func (s *schema) fault(at *fieldPath, format string, args ...any) {
	if len(s.faults) <= maxFaults {
		s.faults = append(s.faults, Fault{Line: at.line(s.doc), Field: at.String(), Reason: fmt.Sprintf(format, args...)})
	}
}

func (s *schema) expected(at *fieldPath, v *value, what string) {
	s.fault(at, "%s: expected %s", v.describe(), what)
}

// describe is a value with its kind, since "8080" and 8080 look alike.
func (v *value) describe() string {
	switch v.kind {
	case boolean, number, text:
		return v.show() + " is " + v.kind.String()
	}
	return v.kind.String()
}

// check compares v, found at a path, with type t. null stands for a field that
// is not set, except as an item of a list.
func (s *schema) check(v *value, t reflect.Type, at *fieldPath) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v.kind == null {
		return
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		s.checkOwn(v, t, at)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		s.checkStruct(v, t, at)
	case reflect.Map:
		s.checkMap(v, t, at)
	case reflect.Slice:
		s.checkSlice(v, t, at)
	case reflect.String:
		s.checkText(v, at)
	case reflect.Bool:
		if v.kind != boolean {
			s.expected(at, v, "true or false")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.checkInt(v, t.Bits(), at)
	case reflect.Float32, reflect.Float64:
		if v.kind != number {
			s.expected(at, v, "a number")
		}
	}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// checkOwn is for types that read themselves: quantities, times and the like.
func (s *schema) checkOwn(v *value, t reflect.Type, at *fieldPath) {
	what := "another form"
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		what = "a quantity, such as 250m, 2 or 64Mi"
		if v.kind != text && v.kind != number {
			s.expected(at, v, what)
			return
		}
	case reflect.TypeFor[intstr.IntOrString]():
		what = "a whole number or a name"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		what = "a time, such as 2006-01-02T15:04:05Z"
	}
	if json.Unmarshal(v.appendJSON(nil), reflect.New(t).Interface()) != nil {
		s.expected(at, v, what)
	}
}

func (s *schema) checkStruct(v *value, t reflect.Type, at *fieldPath) {
	if v.kind != object {
		s.expected(at, v, "an object")
		return
	}
	known := s.fieldsOf(t)
	for _, f := range v.fields {
		if ft, ok := known[f.name]; ok {
			s.check(f.value, ft, at.field(f.name))
			continue
		}
		s.fault(at.field(f.name), "unknown field%s", suggestion(f.name, known))
	}
}

// suggestion finds the field that differs by case only.
func suggestion(name string, known map[string]reflect.Type) string {
	for k := range known {
		if strings.EqualFold(k, name) {
			return fmt.Sprintf(" (did you mean %q?)", k)
		}
	}
	return ""
}

func (s *schema) checkMap(v *value, t reflect.Type, at *fieldPath) {
	if v.kind != object {
		s.expected(at, v, "an object")
		return
	}
	for _, f := range v.fields {
		s.check(f.value, t.Elem(), at.entry(f.name))
	}
}

func (s *schema) checkSlice(v *value, t reflect.Type, at *fieldPath) {
	if t.Elem().Kind() == reflect.Uint8 {
		if _, err := base64.StdEncoding.DecodeString(v.text); v.kind != text || err != nil {
			s.expected(at, v, "base64 text")
		}
		return
	}
	if v.kind != list {
		s.expected(at, v, "a list")
		return
	}
	for i, item := range v.items {
		if item.kind == null {
			s.expected(at.at(i), item, "a value (a list has no empty items)")
			continue
		}
		s.check(item, t.Elem(), at.at(i))
	}
}

func (s *schema) checkText(v *value, at *fieldPath) {
	switch v.kind {
	case text:
	case boolean, number:
		s.expected(at, v, "a string (put it in quotes)")
	default:
		s.expected(at, v, "a string")
	}
}

func (s *schema) checkInt(v *value, bits int, at *fieldPath) {
	if v.kind != number {
		s.expected(at, v, "a whole number")
		return
	}
	if _, err := strconv.ParseInt(v.text, 10, bits); err != nil {
		limit := uint64(math.MaxInt64) >> (64 - bits)
		s.fault(at, "%s: expected a whole number up to %d", v.show(), limit)
	}
}

// fieldsOf has the JSON names of a struct, with those of the structs it embeds.
func (s *schema) fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := s.types[t]; ok {
		return known
	}
	known := make(map[string]reflect.Type, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		name := jsonName(f)
		switch {
		case name != "" && name != "-":
			known[name] = f.Type
		case name == "" && f.Anonymous:
			for name, ft := range s.fieldsOf(f.Type) {
				known[name] = ft
			}
		}
	}
	s.types[t] = known
	return known
}

// jsonName is the name of a struct's field in a document; empty if it has none.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
