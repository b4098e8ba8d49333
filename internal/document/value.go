package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/podkeel/podkeel/internal/plain"
)

// Kind is the kind of a value, as JSON names it.
type Kind uint8

// The kinds of values.
const (
	// Null is an absent value.
	Null Kind = iota
	// Boolean has "true" or "false" as its Text.
	Boolean
	// Number has its canonical literal as its Text.
	Number
	// Text is a string.
	Text
	// List has Items.
	List
	// Object has Fields.
	Object
)

// String returns words that complete "the value is ...".
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// Value is one node of a YAML or JSON document. Aliases and merge keys are resolved, and scalars have a kind. A Value
// never changes after it was built, so an alias can share it. The tree in memory is therefore no larger than the text.
type Value struct {
	Kind   Kind
	Line   int
	Text   string   // of a string; the canonical literal of a boolean or number
	Items  []*Value // of a list
	Fields []Field  // of an object, in order of appearance, without duplicates

	height     int   // 1 for a scalar
	size       int   // number of values with aliases expanded, itself included
	bytes      int64 // of strings and names with aliases expanded
	unreadable bool  // it replaces a value that could not be read; the reader has reported that fault
}

// Field is one entry of an object.
type Field struct {
	Name  string
	Line  int
	Value *Value
}

// Get returns the value of the field with this name, or nil. A nil Value has no fields.
func (v *Value) Get(name string) *Value {
	if f := v.findField(name); f != nil {
		return f.Value
	}
	return nil
}

// findField returns the field with this name, or nil.
func (v *Value) findField(name string) *Field {
	if v == nil {
		return nil
	}
	i := slices.IndexFunc(v.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &v.Fields[i]
}

// computeTotals sets height (levels of nesting), size (number of values) and bytes of v from its items and
// fields, and returns v. The sums stop growing just above the bounds, because aliases of aliases grow
// exponentially.
func (v *Value) computeTotals() *Value {
	v.height, v.size, v.bytes = 1, 1, int64(len(v.Text))
	for _, item := range v.Items {
		v.addTotals(item)
	}
	for _, f := range v.Fields {
		v.bytes += int64(len(f.Name))
		v.addTotals(f.Value)
	}
	return v
}

// addTotals adds the size and the bytes of a part to v, and raises the height of v above the part.
func (v *Value) addTotals(part *Value) {
	v.height = max(v.height, part.height+1)
	v.size = min(v.size+part.size, maxValues+1)
	v.bytes = min(v.bytes+part.bytes, maxByteSum)
}

// lineOfInnermost returns the line of an innermost part of v for which exceeds returns true: no part of that part
// exceeds too. It returns the line of v if no part exceeds.
func (v *Value) lineOfInnermost(exceeds func(*Value) bool) int {
	for {
		inner := slices.IndexFunc(v.Items, exceeds)
		if inner >= 0 {
			v = v.Items[inner]
			continue
		}
		inner = slices.IndexFunc(v.Fields, func(f Field) bool { return exceeds(f.Value) })
		if inner < 0 {
			return v.Line
		}
		v = v.Fields[inner].Value
	}
}

// AppendJSON appends the canonical JSON form: no spaces, fields sorted, aliases expanded. It depends on the content
// alone and not on the order or style of the document, nor on any Go type.
func (v *Value) AppendJSON(to []byte) []byte { return v.appendSortedJSON(to, appendHTMLSafeJSONString) }

// appendSortedJSON appends the value as JSON, with the fields sorted by name. It calls appendText for each string and
// each field name.
func (v *Value) appendSortedJSON(to []byte, appendText func(to []byte, s string) []byte) []byte {
	switch v.Kind {
	case Null:
		return append(to, "null"...)
	case Boolean, Number:
		return append(to, v.Text...)
	case Text:
		return appendText(to, v.Text)
	case List:
		to = append(to, '[')
		for i, item := range v.Items {
			if i > 0 {
				to = append(to, ',')
			}
			to = item.appendSortedJSON(to, appendText)
		}
		return append(to, ']')
	}
	sorted := slices.Clone(v.Fields)
	slices.SortStableFunc(sorted, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	to = append(to, '{')
	for i, f := range sorted {
		if i > 0 {
			to = append(to, ',')
		}
		to = appendText(to, f.Name)
		to = append(to, ':')
		to = f.Value.appendSortedJSON(to, appendText)
	}
	return append(to, '}')
}

// appendHTMLSafeJSONString appends s in quotes as a JSON string, as encoding/json does: it also escapes <, >
// and &. It converts s in pieces, so that it needs little more memory than the string.
func appendHTMLSafeJSONString(to []byte, s string) []byte {
	const piece = 4 << 10
	to = append(to, '"')
	for len(s) > 0 {
		end := min(len(s), piece)
		for end < len(s) && !utf8.RuneStart(s[end]) {
			end++
		}
		quoted, _ := json.Marshal(s[:end]) // Marshaling a string cannot fail.
		to, s = append(to, quoted[1:len(quoted)-1]...), s[end:]
	}
	return append(to, '"')
}

// appendJSONString appends s in quotes as a JSON string. It escapes only the characters that JSON requires.
func appendJSONString(to []byte, s string) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			to = append(to, '\\', c)
		case c == '\n':
			to = append(to, '\\', 'n')
		case c < ' ':
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			to = append(to, c)
		}
	}
	return append(to, '"')
}

// Show formats a value for a message.
func (v *Value) Show() string {
	switch v.Kind {
	case Boolean, Number:
		return plain.Shorten(v.Text)
	case Text:
		return plain.Quote(v.Text)
	}
	return v.Kind.String()
}

// Describe formats a value with its kind, because "8080" and 8080 look alike.
func (v *Value) Describe() string {
	switch v.Kind {
	case Boolean, Number, Text:
		return v.Show() + " is " + v.Kind.String()
	}
	return v.Kind.String()
}

// canonicalNumber formats a JSON number, so that equal numbers have the same text: 64-bit integers in decimal,
// other numbers in the shortest form. It returns an error for a number outside the range of float64.
func canonicalNumber(literal string) (string, error) {
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return strconv.FormatInt(n, 10), nil
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return "", fmt.Errorf("%s is too large for a number", plain.Shorten(literal))
	}
	return strconv.FormatFloat(f, 'g', -1, 64), nil
}
