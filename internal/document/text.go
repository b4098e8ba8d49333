package document

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// maxValueMarkers bounds the characters that can begin a value. It is checked before the text is parsed, because the
// tree of a file of commas is a hundred times as large as the file.
const maxValueMarkers = maxValues

// readDocuments parses all documents in the text of a file. It parses a text that begins with { or [ as JSON,
// and as YAML if that fails. If both fail, it returns the faults of JSON. It parses any other text as YAML.
func readDocuments(data []byte, b Bounds) ([]*Value, Faults) {
	data, faults := validateAndTrimBOM(data, b)
	if faults != nil {
		return nil, faults
	}
	start := bytes.TrimLeft(data, " \t\r\n")
	if len(start) == 0 || start[0] != '{' && start[0] != '[' {
		return readYAML(data, b)
	}
	docs, jsonFaults := readNonNullJSONDocuments(data, b)
	if _, wrong := jsonFaults.Split(); wrong == nil {
		return docs, jsonFaults
	}
	// It may be YAML in flow style. If it is neither, the faults of the JSON parser are reported.
	flow, flowFaults := readYAML(data, b)
	if _, wrong := flowFaults.Split(); wrong == nil {
		return flow, flowFaults
	}
	return docs, jsonFaults
}

// validateAndTrimBOM returns the text without a byte order mark. It returns a fault if the text is too large,
// is UTF-16 or not UTF-8, has a NUL byte, or may have too many values.
func validateAndTrimBOM(data []byte, b Bounds) ([]byte, Faults) {
	fault := func(line int, format string, args ...any) ([]byte, Faults) {
		return nil, Faults{{Line: line, Reason: fmt.Sprintf(format, args...), Syntax: true}}
	}
	if int64(len(data)) > b.Bytes {
		return nil, Faults{{Reason: "larger than " + formatBytes(b.Bytes), Syntax: true, Kind: BeyondBound}}
	}
	if bytes.HasPrefix(data, []byte{0xFE, 0xFF}) || bytes.HasPrefix(data, []byte{0xFF, 0xFE}) {
		return fault(1, "UTF-16 text; a manifest is UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte{0xEF, 0xBB, 0xBF})
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return fault(lineAtByte(data, i), "a NUL byte: not text")
	}
	if i := indexOfInvalidUTF8(data); i >= 0 {
		return fault(lineAtByte(data, i), "byte 0x%02x is not UTF-8: not text", data[i])
	}
	if countValueMarkers(data) > maxValueMarkers {
		return nil, Faults{{Reason: fmt.Sprintf("more than %d fields, items and lines", maxValueMarkers), Syntax: true, Kind: BeyondBound}}
	}
	return data, nil
}

// lineAtByte returns the line number of the byte at an offset.
func lineAtByte(data []byte, offset int) int { return 1 + bytes.Count(data[:offset], []byte{'\n'}) }

// indexOfInvalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func indexOfInvalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return -1
}

// countValueMarkers counts the characters that can begin or separate values. A text has at most one value more
// than this number.
func countValueMarkers(data []byte) (n int) {
	for _, b := range data {
		switch b {
		case '\n', ',', ':', '[', '{', '-', '?':
			n++
		}
	}
	return n
}
