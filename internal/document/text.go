package document

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// maxMarks bounds the characters that can begin a value, before anything is
// parsed: a file of commas is a tree of a hundred times its size.
const maxMarks = maxValues

// readDocuments makes a value of every document in the text of a file.
func readDocuments(data []byte, b Bounds) ([]*Value, Faults) {
	data, faults := checkText(data, b)
	if faults != nil {
		return nil, faults
	}
	start := bytes.TrimLeft(data, " \t\r\n")
	if len(start) == 0 || start[0] != '{' && start[0] != '[' {
		return readYAML(data, b)
	}
	docs, jsonFaults := readJSON(data, b)
	if _, wrong := jsonFaults.Split(); wrong == nil {
		return docs, jsonFaults
	}
	// It may be YAML in flow style. If it is neither, it was meant as JSON.
	flow, flowFaults := readYAML(data, b)
	if _, wrong := flowFaults.Split(); wrong == nil {
		return flow, flowFaults
	}
	return docs, jsonFaults
}

// checkText says why bytes cannot be a manifest, and takes off a
// byte order mark.
func checkText(data []byte, b Bounds) ([]byte, Faults) {
	bad := func(line int, format string, args ...any) ([]byte, Faults) {
		return nil, Faults{{Line: line, Reason: fmt.Sprintf(format, args...), Syntax: true}}
	}
	if int64(len(data)) > b.Bytes {
		return nil, Faults{{Reason: "larger than " + size(b.Bytes), Syntax: true, Kind: BeyondBound}}
	}
	if bytes.HasPrefix(data, []byte{0xFE, 0xFF}) || bytes.HasPrefix(data, []byte{0xFF, 0xFE}) {
		return bad(1, "UTF-16 text; a manifest is UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte{0xEF, 0xBB, 0xBF})
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return bad(lineOf(data, i), "a NUL byte: not text")
	}
	if i := invalidUTF8(data); i >= 0 {
		return bad(lineOf(data, i), "byte 0x%02x is not UTF-8: not text", data[i])
	}
	if marks(data) > maxMarks {
		return nil, Faults{{Reason: fmt.Sprintf("more than %d fields, items and lines", maxMarks), Syntax: true, Kind: BeyondBound}}
	}
	return data, nil
}

func lineOf(data []byte, offset int) int { return 1 + bytes.Count(data[:offset], []byte{'\n'}) }

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return -1
}

// marks is an upper bound on the number of values, within a small factor.
func marks(data []byte) (n int) {
	for _, b := range data {
		switch b {
		case '\n', ',', ':', '[', '{', '-', '?':
			n++
		}
	}
	return n
}
