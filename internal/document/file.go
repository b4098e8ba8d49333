package document

import (
	"encoding/json"
	"reflect"
)

// File is what was read of a file.
type File struct {
	// Documents are those that are not empty, in order.
	Documents []*Value

	// Loose takes numbers and booleans for their canonical text where a text is
	// expected. It is set before Decode.
	Loose bool

	bounds Bounds
	types  map[reflect.Type]map[string]reflect.Type // fields of the structs met so far
	memory int64                                    // of what was decoded so far
	full   bool                                     // more was to be decoded than there is room for
}

// Read reads the text of a file. It returns a File in any case; after a fault that
// leaves nothing to go on with there are no documents in it.
func Read(text []byte, b Bounds) (*File, Faults) {
	docs, faults := readDocuments(text, b)
	return &File{Documents: docs, bounds: b, types: map[reflect.Type]map[string]reflect.Type{}}, faults
}

// Memory is what has been decoded takes, in bytes, as Bounds.Memory counts.
func (f *File) Memory() int64 { return f.memory }

// Full reports that there was no room for all that was to be decoded.
func (f *File) Full() bool { return f.full }

// Check compares a document of the file with a type of Go, strictly: every unknown
// field and every value of a wrong kind is a fault.
func (f *File) Check(doc *Value, t reflect.Type) Faults {
	s := newSchema(doc, f)
	s.check(doc, t, nil)
	return s.faults
}

// Decode checks a document, or a part of one, and decodes it into what to points to.
// What is at fault is left out; missing names the values that are not there, or not
// whole, because of that. Unknown fields are faults and nothing is missing without
// them. A document for which there is no room is not decoded at all.
func (f *File) Decode(doc *Value, to any) (missing []*Path, faults Faults) {
	s := newSchema(doc, f)
	clean := s.check(doc, reflect.TypeOf(to), nil)
	if clean == nil || f.full {
		return []*Path{nil}, s.faults
	}
	text := clean.appendJSON(make([]byte, 0, clean.bytes+8*int64(clean.size)), appendPlain)
	if err := json.Unmarshal(text, to); err != nil {
		s.fault(nil, "%v", err) // The check leaves nothing for this, as far as the fuzzer knows.
		return []*Path{nil}, s.faults
	}
	return s.missing, s.faults
}
