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

// Kind is what a value of a document is, in the words of JSON.
type Kind uint8

// The kinds of values.
const (
	// Null is no value.
	Null Kind = iota
	// Boolean is true or false, as its Text.
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

// String completes "is ...".
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// Value is one node of a decoded document, from YAML or from JSON: aliases and
// merge keys are resolved, scalars typed. It is never changed once made, so an
// alias shares it: the tree in memory is no larger than the text, whatever it
// would be with aliases written out.
type Value struct {
	Kind   Kind
	Line   int
	Text   string   // of a string; the canonical literal of a boolean or number
	Items  []*Value // of a list
	Fields []Field  // of an object, in order of appearance, without duplicates

	height int   // 1 for a scalar
	size   int   // values with aliases written out, itself included
	bytes  int64 // of texts and names with aliases written out
	bad    bool  // it stands for something that could not be read, which is a fault of its own
}

// Field is one entry of an object.
type Field struct {
	Name  string
	Line  int
	Value *Value
}

// Get returns the field with this name, or nil. nil has no fields.
func (v *Value) Get(name string) *Value {
	if f := v.field(name); f != nil {
		return f.Value
	}
	return nil
}

func (v *Value) field(name string) *Field {
	if v == nil {
		return nil
	}
	i := slices.IndexFunc(v.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &v.Fields[i]
}

// seal computes what depends on the parts once all of them are there. The sums
// stop just above the bounds: ten aliases of ten aliases ...
func (v *Value) seal() *Value {
	v.height, v.size, v.bytes = 1, 1, int64(len(v.Text))
	for _, item := range v.Items {
		v.add(item)
	}
	for _, f := range v.Fields {
		v.bytes += int64(len(f.Name))
		v.add(f.Value)
	}
	return v
}

func (v *Value) add(part *Value) {
	v.height = max(v.height, part.height+1)
	v.size = min(v.size+part.size, maxValues+1)
	v.bytes = min(v.bytes+part.bytes, maxSum)
}

// line is the line of the innermost value that is beyond a bound by itself.
func (v *Value) line(beyond func(*Value) bool) int {
	for {
		inner := slices.IndexFunc(v.Items, beyond)
		if inner >= 0 {
			v = v.Items[inner]
			continue
		}
		inner = slices.IndexFunc(v.Fields, func(f Field) bool { return beyond(f.Value) })
		if inner < 0 {
			return v.Line
		}
		v = v.Fields[inner].Value
	}
}

// AppendJSON appends the canonical form: JSON without spaces, fields sorted.
// It depends on the document alone, not on the order or style in which it was
// written, nor on any Go type. It writes aliases out.
func (v *Value) AppendJSON(to []byte) []byte { return v.appendJSON(to, appendCanonical) }

// appendJSON appends JSON with texts as text appends them.
func (v *Value) appendJSON(to []byte, text func(to []byte, s string) []byte) []byte {
	switch v.Kind {
	case Null:
		return append(to, "null"...)
	case Boolean, Number:
		return append(to, v.Text...)
	case Text:
		return text(to, v.Text)
	case List:
		to = append(to, '[')
		for i, item := range v.Items {
			if i > 0 {
				to = append(to, ',')
			}
			to = item.appendJSON(to, text)
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
		to = text(to, f.Name)
		to = append(to, ':')
		to = f.Value.appendJSON(to, text)
	}
	return append(to, '}')
}

// appendCanonical writes a text as package json does, with everything escaped that
// means something in HTML. It goes piece by piece, so as not to need much more
// memory than the text.
func appendCanonical(to []byte, s string) []byte {
	const piece = 4 << 10
	to = append(to, '"')
	for len(s) > 0 {
		end := min(len(s), piece)
		for end < len(s) && !utf8.RuneStart(s[end]) {
			end++
		}
		quoted, _ := json.Marshal(s[:end]) // A string cannot fail.
		to, s = append(to, quoted[1:len(quoted)-1]...), s[end:]
	}
	return append(to, '"')
}

// appendPlain escapes only what has to be.
func appendPlain(to []byte, s string) []byte {
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

// Show is a value as a message quotes it.
func (v *Value) Show() string {
	switch v.Kind {
	case Boolean, Number:
		return plain.Shorten(v.Text)
	case Text:
		return plain.Quote(v.Text)
	}
	return v.Kind.String()
}

// Describe is a value with its kind, since "8080" and 8080 look alike.
func (v *Value) Describe() string {
	switch v.Kind {
	case Boolean, Number, Text:
		return v.Show() + " is " + v.Kind.String()
	}
	return v.Kind.String()
}

// canonicalNumber writes a JSON number in one way whatever way it was written
// in: integers in decimal, others in the shortest form.
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
