package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// File holds the documents of a file and how they are decoded.
type File struct {
	// Documents are the documents that are not empty, in order.
	Documents []*Value

	// Loose accepts numbers and booleans where a string is expected. The string is their canonical text. It must be set
	// before Decode.
	Loose bool

	// Lenient means that the caller treats unknown fields as warnings: Decode reports no value as missing because of
	// them. It must be set before Decode.
	Lenient bool

	bounds         Bounds
	types          map[reflect.Type]map[string]reflect.Type // JSON fields of each struct type, cached
	memory         int64                                    // of the values decoded so far
	memoryExceeded bool                                     // the documents need more memory than the bound
}

// Read parses the text of a file. It always returns a File. After a syntax error, or if a bound is exceeded, the File
// has no documents.
func Read(text []byte, b Bounds) (*File, Faults) {
	docs, faults := readDocuments(text, b)
	return &File{Documents: docs, bounds: b, types: map[reflect.Type]map[string]reflect.Type{}}, faults
}

// Memory returns how many bytes the decoded documents take, as Bounds.Memory counts them.
func (f *File) Memory() int64 { return f.memory }

// Full reports whether the documents needed more memory than the bound.
func (f *File) Full() bool { return f.memoryExceeded }

// Check compares a document of the file with a Go type. Every unknown field and every value of a wrong kind is a fault.
func (f *File) Check(doc *Value, t reflect.Type) Faults {
	s := newSchema(doc, f)
	s.dropFaultyPartsOfValue(doc, t, nil)
	return s.allFaults()
}

// Decode checks a document, or a part of one, and decodes it into the value that to points to. It leaves faulty values
// out. missing lists the values that are absent or incomplete for that reason. An unknown field is a fault, but makes
// nothing missing. A document for which the memory does not suffice is not decoded at all.
func (f *File) Decode(doc *Value, to any) (missing []*Path, faults Faults) {
	s := newSchema(doc, f)
	clean := s.dropFaultyPartsOfValue(doc, reflect.TypeOf(to), nil)
	if clean == nil || f.memoryExceeded {
		return []*Path{nil}, s.allFaults()
	}
	text := clean.appendSortedJSON(make([]byte, 0, clean.bytes+8*int64(clean.size)), appendJSONString)
	if err := json.Unmarshal(text, to); err != nil {
		s.addFault(nil, "%v", err) // The check finds every such error, as far as the fuzz test knows.
		return []*Path{nil}, s.allFaults()
	}
	return s.missing, s.allFaults()
}

// JSON parses a text with one document, in YAML or JSON, and returns it as JSON. Aliases and merge keys are expanded.
// The JSON exceeds the bound of bytes by its punctuation at most. It is nil if there is a fault. The warnings are
// duplicate fields, where the last one is used.
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
	return docs[0].appendSortedJSON(make([]byte, 0, docs[0].bytes+8*int64(docs[0].size)), appendJSONString), warnings, nil
}

// Bounds limits all documents of a file together.
type Bounds struct {
	// Bytes bounds the text of the file, and its strings and field names with aliases and merge keys expanded.
	Bytes int64
	// Memory bounds the size of the documents as Go values, in bytes. A list item of two characters can become a struct
	// of a thousand bytes. Only the sizes of the types are counted, so the real size is a little larger.
	Memory int64
}

const (
	// maxDepth is the maximum number of levels. A pod needs under 20.
	maxDepth = 100
	// maxValues is the maximum number of values in all documents, with aliases expanded.
	maxValues = 200_000
	// maxByteSum is where sums of bytes stop growing. It is larger than every bound.
	maxByteSum = 1 << 40
)

// checkDocument returns an error if a document exceeds a bound, and the line of the innermost value that
// exceeds it. values and bytes are the totals of the file up to the end of this document.
func (b Bounds) checkDocument(v *Value, values int, bytes int64) (line int, err error) {
	switch {
	case v.height > maxDepth:
		return v.lineOfInnermost(func(part *Value) bool { return part.height > maxDepth }), boundErrorf("nested deeper than %d levels", maxDepth)
	case values > maxValues:
		return v.lineOfInnermost(func(part *Value) bool { return part.size > maxValues }), boundErrorf("more than %d values once aliases are written out", maxValues)
	case bytes > b.Bytes:
		return v.lineOfInnermost(func(part *Value) bool { return part.bytes > b.Bytes }), boundErrorf("more than %s once aliases are written out", formatBytes(b.Bytes))
	}
	return 0, nil
}

// boundError names the bound that a document exceeds.
type boundError string

func (e boundError) Error() string { return string(e) }

// boundErrorf formats the error of a document that exceeds a bound.
func boundErrorf(format string, args ...any) error { return boundError(fmt.Sprintf(format, args...)) }

// faultKindOf returns BeyondBound for a boundError, and Wrong for any other error.
func faultKindOf(err error) FaultKind {
	if bound := boundError(""); errors.As(err, &bound) {
		return BeyondBound
	}
	return Wrong
}

// formatBytes formats a number of bytes. It uses MiB for a multiple of a MiB, and bytes for any other number.
func formatBytes(bytes int64) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
