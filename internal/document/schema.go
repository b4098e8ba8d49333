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

// schema compares a document with the Go type that it is decoded into. Every unknown field and every value of a wrong
// kind is a fault with its path. schema also counts the memory of the Go value, and builds a copy of the document
// without the faulty values.
type schema struct {
	doc           *Value
	file          *File
	faults        Faults
	unknownFields Faults // at most MaxFaults + 1
	missing       []*Path
}

func newSchema(doc *Value, file *File) *schema {
	return &schema{doc: doc, file: file}
}

// addFault adds a fault of the value at a path. It does nothing if the list already has more than MaxFaults
// faults.
func (s *schema) addFault(at *Path, format string, args ...any) {
	if len(s.faults) <= MaxFaults {
		s.faults = append(s.faults, Fault{Line: at.Line(s.doc), Field: at.String(), Reason: fmt.Sprintf(format, args...)})
	}
}

// allFaults returns all faults. The faults of unknown fields are last.
func (s *schema) allFaults() Faults {
	if len(s.unknownFields) == 0 {
		return s.faults
	}
	return append(s.faults, s.unknownFields...)
}

// addTypeFault adds the fault that the value is not of the expected kind, and adds its path to the missing
// values. It always returns nil, so that the caller can return that in place of the value.
func (s *schema) addTypeFault(at *Path, v *Value, expected string) (alwaysNil *Value) {
	s.addFault(at, "%s: expected %s", v.Describe(), expected)
	return s.addMissing(at)
}

// addMissing adds the path to the list of values that the result does not contain, up to maxMissing paths. It
// always returns nil, so that the caller can return that in place of the value.
func (s *schema) addMissing(at *Path) (alwaysNil *Value) {
	if len(s.missing) < maxMissing {
		s.missing = append(s.missing, at)
	}
	return nil
}

// maxMissing bounds the list of missing values.
const maxMissing = 1000

// reserveMemoryOrAddFault adds bytes to the memory that the values of the file need, and returns true if the
// sum is within the bound. If the sum exceeds the bound, it returns false. The first time it also adds a fault.
func (s *schema) reserveMemoryOrAddFault(at *Path, bytes int64) (withinBound bool) {
	if s.file.memoryExceeded {
		return false
	}
	if s.file.memory += bytes; s.file.memory <= s.file.bounds.Memory {
		return true
	}
	s.file.memoryExceeded = true
	s.faults = append(s.faults, Fault{Line: at.Line(s.doc), Field: at.String(),
		Reason: fmt.Sprintf("with what stands before it, it needs more than %s of memory", formatBytes(s.file.bounds.Memory)), Syntax: true, Kind: BeyondBound})
	return false
}

// dropFaultyPartsOfValue compares v with type t and returns v without its faulty parts. It adds a fault for
// each of them. It returns nil if nothing of v can be used. A null is valid for every type, because it says
// that a field is not set.
func (s *schema) dropFaultyPartsOfValue(v *Value, t reflect.Type, at *Path) (usable *Value) {
	if v.unreadable {
		return s.addMissing(at) // The reader has reported the fault.
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
		if v.Kind != Null && !s.reserveMemoryOrAddFault(at, int64(t.Size())) {
			return nil
		}
	}
	if v.Kind == Null {
		return v
	}
	if !s.reserveMemoryOrAddFault(at, int64(len(v.Text))) {
		return nil
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return s.checkByUnmarshaling(v, t, at)
	}
	switch t.Kind() {
	case reflect.Struct:
		return s.dropFaultyAndUnknownFields(v, t, at)
	case reflect.Map:
		return s.dropFaultyMapValues(v, t, at)
	case reflect.Slice:
		return s.checkBase64OrReplaceFaultyItems(v, t, at)
	case reflect.String:
		return s.textOrConvertedIfLoose(v, at)
	case reflect.Bool:
		if v.Kind != Boolean {
			return s.addTypeFault(at, v, "true or false")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return s.integerOrAddFault(v, t.Bits(), at)
	case reflect.Float32, reflect.Float64:
		if v.Kind != Number {
			return s.addTypeFault(at, v, "a number")
		}
	}
	return v
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// checkByUnmarshaling checks a value by calling the UnmarshalJSON method of its type, such as a quantity or a
// time. It returns v, or it adds a fault and returns nil.
func (s *schema) checkByUnmarshaling(v *Value, t reflect.Type, at *Path) (usable *Value) {
	expected := "another form"
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		expected = "a quantity, such as 250m, 2 or 64Mi"
		if v.Kind != Text && v.Kind != Number {
			return s.addTypeFault(at, v, expected)
		}
		if _, err := podspec.ParseQuantity(v.Text); errors.Is(err, podspec.ErrQuantity) {
			return s.addTypeFault(at, v, strings.TrimPrefix(err.Error(), "expected "))
		}
	case reflect.TypeFor[intstr.IntOrString]():
		expected = "a whole number or a name"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		expected = "a time, such as 2006-01-02T15:04:05Z"
	}
	if !s.reserveMemoryOrAddFault(at, v.bytes) {
		return nil
	}
	if json.Unmarshal(v.appendSortedJSON(nil, appendJSONString), reflect.New(t).Interface()) != nil {
		return s.addTypeFault(at, v, expected)
	}
	return v
}

// dropFaultyAndUnknownFields checks each field of an object against the fields of a struct. It returns the
// object without faulty and unknown fields. An unknown field adds a fault in a strict file. In a lenient file
// it adds a fault only if a newer API version has the field, because such a field may restrict the pod.
func (s *schema) dropFaultyAndUnknownFields(v *Value, t reflect.Type, at *Path) (usable *Value) {
	if v.Kind != Object {
		return s.addTypeFault(at, v, "an object")
	}
	known := s.jsonFieldTypes(t)
	return mapFields(v, func(f Field) *Value {
		if podfields.IsName(f.Name) && f.Value.Kind != Null {
			if since, is := podfields.Newer(at.Field(f.Name).String()); is {
				s.addFault(at.Field(f.Name), "%s", podfields.Reason(since)) // Also a fault for lenient readers: the field may restrict the pod.
				return nil
			}
		}
		if ft, ok := known[f.Name]; ok {
			return s.dropFaultyPartsOfValue(f.Value, ft, at.Field(f.Name))
		}
		hint := ""
		if suggested, ok := fieldIgnoringCase(f.Name, known); ok {
			hint = fmt.Sprintf(" (did you mean %q?)", suggested)
			if !s.file.Lenient {
				s.addMissing(at.Field(suggested)) // Probably the author meant this field.
			}
		}
		if len(s.unknownFields) <= MaxFaults {
			at := at.Field(f.Name)
			s.unknownFields = append(s.unknownFields, Fault{Line: at.Line(s.doc), Field: at.String(), Reason: "unknown field" + hint, Kind: UnknownField})
		}
		return nil
	})
}

// mapFields returns an object with the converted values of v's fields. It leaves out fields for which convert
// returns nil. It returns v itself if no value changes.
func mapFields(v *Value, convert func(Field) *Value) *Value {
	kept := make([]Field, 0, len(v.Fields))
	same := true
	for _, f := range v.Fields {
		value := convert(f)
		same = same && value == f.Value
		if value != nil {
			kept = append(kept, Field{f.Name, f.Line, value})
		}
	}
	if same {
		return v
	}
	return (&Value{Kind: Object, Line: v.Line, Fields: kept}).computeTotals()
}

// fieldIgnoringCase returns the known field whose name equals name except for upper and lower case. It returns
// false if there is no such field.
func fieldIgnoringCase(name string, known map[string]reflect.Type) (match string, ok bool) {
	for k := range known {
		if strings.EqualFold(k, name) {
			return k, true
		}
	}
	return "", false
}

// dropFaultyMapValues checks the values of an object against the element type of a map. It returns the object
// without faulty values. If v is no object, it adds a fault and returns nil.
func (s *schema) dropFaultyMapValues(v *Value, t reflect.Type, at *Path) (usable *Value) {
	if v.Kind != Object {
		return s.addTypeFault(at, v, "an object")
	}
	entry := int64(t.Key().Size() + t.Elem().Size())
	return mapFields(v, func(f Field) *Value {
		at := at.Entry(f.Name)
		if !s.reserveMemoryOrAddFault(at, entry+int64(len(f.Name))) {
			return nil
		}
		return s.dropFaultyPartsOfValue(f.Value, t.Elem(), at)
	})
}

// checkBase64OrReplaceFaultyItems checks a value for a field of a slice type. If the field is a slice of bytes,
// the value must be base64 text. For any other slice the value must be a list. It returns the list with null in
// place of each faulty item. It returns nil for a value of another kind, and after the file has exceeded the
// memory bound.
func (s *schema) checkBase64OrReplaceFaultyItems(v *Value, t reflect.Type, at *Path) (usable *Value) {
	if t.Elem().Kind() == reflect.Uint8 {
		if _, err := base64.StdEncoding.DecodeString(v.Text); v.Kind != Text || err != nil {
			return s.addTypeFault(at, v, "base64 text")
		}
		return v
	}
	if v.Kind != List {
		return s.addTypeFault(at, v, "a list")
	}
	items := make([]*Value, 0, len(v.Items))
	same := true
	for i, item := range v.Items {
		clean := s.replaceFaultyItemByNull(item, t.Elem(), at.At(i))
		if s.file.memoryExceeded {
			return nil
		}
		same = same && clean == item
		items = append(items, clean)
	}
	if same {
		return v
	}
	return (&Value{Kind: List, Line: v.Line, Items: items}).computeTotals()
}

// replaceFaultyItemByNull checks an item of a list, which must not be null. It returns a null in place of a
// faulty item, so that the other items keep their indexes.
func (s *schema) replaceFaultyItemByNull(item *Value, t reflect.Type, at *Path) (usable *Value) {
	null := (&Value{Line: item.Line}).computeTotals()
	if item.Kind == Null && !item.unreadable {
		s.addTypeFault(at, item, "a value (a list has no empty items)")
		return null
	}
	if !s.reserveMemoryOrAddFault(at, int64(t.Size())) {
		return null
	}
	if clean := s.dropFaultyPartsOfValue(item, t, at); clean != nil {
		return clean
	}
	return null
}

// textOrConvertedIfLoose returns the value if it is a string. If the file is Loose, it converts a boolean or a
// number to a string. For any other value it adds a fault and returns nil.
func (s *schema) textOrConvertedIfLoose(v *Value, at *Path) (usable *Value) {
	switch v.Kind {
	case Text:
		return v
	case Boolean, Number:
		if s.file.Loose {
			return (&Value{Kind: Text, Line: v.Line, Text: v.Text}).computeTotals()
		}
		return s.addTypeFault(at, v, "a string (put it in quotes)")
	}
	return s.addTypeFault(at, v, "a string")
}

// integerOrAddFault returns the value if it is an integer that fits into the number of bits. For any other
// value it adds a fault and returns nil.
func (s *schema) integerOrAddFault(v *Value, bits int, at *Path) (usable *Value) {
	if v.Kind != Number {
		return s.addTypeFault(at, v, "a whole number")
	}
	if _, err := strconv.ParseInt(v.Text, 10, bits); err != nil {
		limit := uint64(math.MaxInt64) >> (64 - bits)
		s.addFault(at, "%s: expected a whole number up to %d", v.Show(), limit)
		return s.addMissing(at)
	}
	return v
}

// jsonFieldTypes returns the types of a struct's fields by JSON name, including the fields of embedded structs.
// The result is cached in the file.
func (s *schema) jsonFieldTypes(t reflect.Type) map[string]reflect.Type {
	if known, ok := s.file.types[t]; ok {
		return known
	}
	known := make(map[string]reflect.Type, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		name := jsonTagName(f)
		switch {
		case name != "" && name != "-":
			known[name] = f.Type
		case name == "" && f.Anonymous:
			for name, ft := range s.jsonFieldTypes(f.Type) {
				known[name] = ft
			}
		}
	}
	s.file.types[t] = known
	return known
}

// jsonTagName returns the name in the json tag of a struct field. It returns "" if the tag has no name or is
// missing. It returns "-" if the tag leaves the field out of JSON.
func jsonTagName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
