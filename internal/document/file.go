package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// File is what was read of a file.
type File struct {
	// Documents are those that are not empty, in order.
	Documents []*Value

	// Loose takes numbers and booleans for their canonical text where a text is
	// expected. It is set before Decode.
	Loose bool

	// Lenient says that the caller takes unknown fields for warnings: nothing counts as missing for
	// them. It is set before Decode.
	Lenient bool

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
	return s.all()
}

// Decode checks a document, or a part of one, and decodes it into what to points to.
// What is at fault is left out; missing names the values that are not there, or not
// whole, because of that. Unknown fields are faults and nothing is missing without
// them. A document for which there is no room is not decoded at all.
func (f *File) Decode(doc *Value, to any) (missing []*Path, faults Faults) {
	s := newSchema(doc, f)
	clean := s.check(doc, reflect.TypeOf(to), nil)
	if clean == nil || f.full {
		return []*Path{nil}, s.all()
	}
	text := clean.appendJSON(make([]byte, 0, clean.bytes+8*int64(clean.size)), appendPlain)
	if err := json.Unmarshal(text, to); err != nil {
		s.fault(nil, "%v", err) // The check leaves nothing for this, as far as the fuzzer knows.
		return []*Path{nil}, s.all()
	}
	return s.missing, s.all()
}

// JSON reads a text with one document, in YAML or JSON, and returns it as JSON with its aliases and
// merge keys written out. The JSON is larger than the bound of bytes by its punctuation only. It is
// nil if there is a fault. The warnings are duplicate fields: the last one counts.
func JSON(text []byte, b Bounds) (converted []byte, warnings, faults Faults) {
	docs, all := readDocuments(text, b)
	warnings, faults = all.Split()
	switch {
	case len(faults) > 0:
		return nil, warnings, faults
	case len(docs) == 0:
		return []byte("null"), warnings, nil
	case len(docs) > 1:
		return nil, warnings, Faults{{Line: docs[1].Line, Reason: "another document: expected one", Syntax: true}}
	}
	return docs[0].appendJSON(make([]byte, 0, docs[0].bytes+8*int64(docs[0].size)), appendPlain), warnings, nil
}

// Bounds is what a file may hold at most, all of its documents together.
type Bounds struct {
	// Bytes bounds the text of the file, and the texts and names in it with
	// aliases and merge keys written out.
	Bytes int64
	// Memory bounds what its documents take as values of Go, in bytes: an item
	// of two characters can become a struct of a thousand bytes. The measure is
	// the sizes of the types, so it is a little less than what is really taken.
	Memory int64
}

const (
	// maxDepth bounds the levels of a document: a pod needs under 20.
	maxDepth = 100
	// maxValues bounds the values of all documents, with aliases written out.
	maxValues = 200_000
	// maxSum is where sums of bytes stop: above every bound.
	maxSum = 1 << 40
)

// passed says which bound a document passes, with all values and bytes up to its
// end, and the line where it does.
func (b Bounds) passed(v *Value, values int, bytes int64) (line int, err error) {
	switch {
	case v.height > maxDepth:
		return v.line(func(part *Value) bool { return part.height > maxDepth }), boundErrorf("nested deeper than %d levels", maxDepth)
	case values > maxValues:
		return v.line(func(part *Value) bool { return part.size > maxValues }), boundErrorf("more than %d values once aliases are written out", maxValues)
	case bytes > b.Bytes:
		return v.line(func(part *Value) bool { return part.bytes > b.Bytes }), boundErrorf("more than %s once aliases are written out", size(b.Bytes))
	}
	return 0, nil
}

// boundError names the bound that a document exceeds.
type boundError string

func (e boundError) Error() string { return string(e) }

func boundErrorf(format string, args ...any) error { return boundError(fmt.Sprintf(format, args...)) }

// faultKind is BeyondBound for an error that beyond has made.
func faultKind(err error) FaultKind {
	if bound := boundError(""); errors.As(err, &bound) {
		return BeyondBound
	}
	return Wrong
}

// size is a number of bytes as people write it.
func size(bytes int64) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
