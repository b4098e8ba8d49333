package document

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/internal/podfields"
	"github.com/podkeel/podkeel/internal/podspec"
)

// schema compares a document with the Go type it is to become, strictly: every
// unknown field and every value of a wrong kind is a fault with its path. It
// counts what the value of Go takes, and makes the document that is left without
// what is at fault.
type schema struct {
	doc     *Value
	file    *File
	faults  Faults
	unknown Faults // fields, MaxFaults and one at most
	missing []*Path
}

func newSchema(doc *Value, file *File) *schema {
	return &schema{doc: doc, file: file}
}

func (s *schema) fault(at *Path, format string, args ...any) {
	if len(s.faults) <= MaxFaults {
		s.faults = append(s.faults, Fault{Line: at.Line(s.doc), Field: at.String(), Reason: fmt.Sprintf(format, args...)})
	}
}

// all returns the faults, and the unknown fields after them.
func (s *schema) all() Faults {
	if len(s.unknown) == 0 {
		return s.faults
	}
	return append(s.faults, s.unknown...)
}

// expected adds a fault, and leaves the value out.
func (s *schema) expected(at *Path, v *Value, what string) *Value {
	s.fault(at, "%s: expected %s", v.Describe(), what)
	return s.leaveOut(at)
}

func (s *schema) leaveOut(at *Path) *Value {
	if len(s.missing) < maxMissing {
		s.missing = append(s.missing, at)
	}
	return nil
}

// maxMissing bounds the list of what is missing: nobody reads so many faults.
const maxMissing = 1000

// take takes room in memory. It is false if there is none left.
func (s *schema) take(at *Path, bytes int64) bool {
	if s.file.full {
		return false
	}
	if s.file.memory += bytes; s.file.memory <= s.file.bounds.Memory {
		return true
	}
	s.file.full = true
	s.faults = append(s.faults, Fault{Line: at.Line(s.doc), Field: at.String(),
		Reason: fmt.Sprintf("with what stands before it, it needs more than %s of memory", size(s.file.bounds.Memory)), Syntax: true, Kind: BeyondBound})
	return false
}

// check compares v, found at a path, with type t, and returns it without what is at
// fault, or nil. null stands for a field that is not set, except as an item of a
// list.
func (s *schema) check(v *Value, t reflect.Type, at *Path) *Value {
	if v.bad {
		return s.leaveOut(at) // It has been told.
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
		if v.Kind != Null && !s.take(at, int64(t.Size())) {
			return nil
		}
	}
	if v.Kind == Null {
		return v
	}
	if !s.take(at, int64(len(v.Text))) {
		return nil
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return s.checkOwn(v, t, at)
	}
	switch t.Kind() {
	case reflect.Struct:
		return s.checkStruct(v, t, at)
	case reflect.Map:
		return s.checkMap(v, t, at)
	case reflect.Slice:
		return s.checkSlice(v, t, at)
	case reflect.String:
		return s.checkText(v, at)
	case reflect.Bool:
		if v.Kind != Boolean {
			return s.expected(at, v, "true or false")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return s.checkInt(v, t.Bits(), at)
	case reflect.Float32, reflect.Float64:
		if v.Kind != Number {
			return s.expected(at, v, "a number")
		}
	}
	return v
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// checkOwn is for types that read themselves: quantities, times and the like.
func (s *schema) checkOwn(v *Value, t reflect.Type, at *Path) *Value {
	what := "another form"
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		what = "a quantity, such as 250m, 2 or 64Mi"
		if v.Kind != Text && v.Kind != Number {
			return s.expected(at, v, what)
		}
		if _, err := podspec.ParseQuantity(v.Text); errors.Is(err, podspec.ErrQuantity) {
			return s.expected(at, v, strings.TrimPrefix(err.Error(), "expected "))
		}
	case reflect.TypeFor[intstr.IntOrString]():
		what = "a whole number or a name"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		what = "a time, such as 2006-01-02T15:04:05Z"
	}
	if !s.take(at, v.bytes) {
		return nil
	}
	if json.Unmarshal(v.appendJSON(nil, appendPlain), reflect.New(t).Interface()) != nil {
		return s.expected(at, v, what)
	}
	return v
}

func (s *schema) checkStruct(v *Value, t reflect.Type, at *Path) *Value {
	if v.Kind != Object {
		return s.expected(at, v, "an object")
	}
	known := s.fieldsOf(t)
	return withFields(v, func(f Field) *Value {
		if podfields.IsName(f.Name) && f.Value.Kind != Null {
			if since, is := podfields.Newer(at.Field(f.Name).String()); is {
				s.fault(at.Field(f.Name), "%s", podfields.Reason(since)) // Never only ignored: it may restrict the pod.
				return nil
			}
		}
		if ft, ok := known[f.Name]; ok {
			return s.check(f.Value, ft, at.Field(f.Name))
		}
		hint := ""
		if meant, ok := suggestion(f.Name, known); ok {
			hint = fmt.Sprintf(" (did you mean %q?)", meant)
			if !s.file.Lenient {
				s.leaveOut(at.Field(meant)) // It would be there.
			}
		}
		if len(s.unknown) <= MaxFaults {
			at := at.Field(f.Name)
			s.unknown = append(s.unknown, Fault{Line: at.Line(s.doc), Field: at.String(), Reason: "unknown field" + hint, Kind: UnknownField})
		}
		return nil
	})
}

// withFields is an object with what a func makes of the value of each field. Those
// of which it makes nothing are left out.
func withFields(v *Value, of func(Field) *Value) *Value {
	kept := make([]Field, 0, len(v.Fields))
	same := true
	for _, f := range v.Fields {
		value := of(f)
		same = same && value == f.Value
		if value != nil {
			kept = append(kept, Field{f.Name, f.Line, value})
		}
	}
	if same {
		return v
	}
	return (&Value{Kind: Object, Line: v.Line, Fields: kept}).seal()
}

// suggestion finds the field that differs by case only.
func suggestion(name string, known map[string]reflect.Type) (meant string, ok bool) {
	for k := range known {
		if strings.EqualFold(k, name) {
			return k, true
		}
	}
	return "", false
}

func (s *schema) checkMap(v *Value, t reflect.Type, at *Path) *Value {
	if v.Kind != Object {
		return s.expected(at, v, "an object")
	}
	entry := int64(t.Key().Size() + t.Elem().Size())
	return withFields(v, func(f Field) *Value {
		at := at.Entry(f.Name)
		if !s.take(at, entry+int64(len(f.Name))) {
			return nil
		}
		return s.check(f.Value, t.Elem(), at)
	})
}

func (s *schema) checkSlice(v *Value, t reflect.Type, at *Path) *Value {
	if t.Elem().Kind() == reflect.Uint8 {
		if _, err := base64.StdEncoding.DecodeString(v.Text); v.Kind != Text || err != nil {
			return s.expected(at, v, "base64 text")
		}
		return v
	}
	if v.Kind != List {
		return s.expected(at, v, "a list")
	}
	items := make([]*Value, 0, len(v.Items))
	same := true
	for i, item := range v.Items {
		clean := s.checkItem(item, t.Elem(), at.At(i))
		if s.file.full {
			return nil
		}
		same = same && clean == item
		items = append(items, clean)
	}
	if same {
		return v
	}
	return (&Value{Kind: List, Line: v.Line, Items: items}).seal()
}

// checkItem checks an item of a list. One that is left out leaves a null, so that
// the others keep their numbers.
func (s *schema) checkItem(item *Value, t reflect.Type, at *Path) *Value {
	null := (&Value{Line: item.Line}).seal()
	if item.Kind == Null && !item.bad {
		s.expected(at, item, "a value (a list has no empty items)")
		return null
	}
	if !s.take(at, int64(t.Size())) {
		return null
	}
	if clean := s.check(item, t, at); clean != nil {
		return clean
	}
	return null
}

func (s *schema) checkText(v *Value, at *Path) *Value {
	switch v.Kind {
	case Text:
		return v
	case Boolean, Number:
		if s.file.Loose {
			return (&Value{Kind: Text, Line: v.Line, Text: v.Text}).seal()
		}
		return s.expected(at, v, "a string (put it in quotes)")
	}
	return s.expected(at, v, "a string")
}

func (s *schema) checkInt(v *Value, bits int, at *Path) *Value {
	if v.Kind != Number {
		return s.expected(at, v, "a whole number")
	}
	if _, err := strconv.ParseInt(v.Text, 10, bits); err != nil {
		limit := uint64(math.MaxInt64) >> (64 - bits)
		s.fault(at, "%s: expected a whole number up to %d", v.Show(), limit)
		return s.leaveOut(at)
	}
	return v
}

// fieldsOf has the JSON names of a struct, with those of the structs it embeds.
func (s *schema) fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := s.file.types[t]; ok {
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
	s.file.types[t] = known
	return known
}

// jsonName is the name of a struct's field in a document; empty if it has none.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
