package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is what a value of a document is, in the words of JSON.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

// String completes "is ...".
func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// value is one node of a decoded document, from YAML or from JSON: aliases and
// merge keys are resolved, scalars typed. It is never changed once made, so an
// alias shares it.
type value struct {
	kind   kind
	line   int
	text   string   // of a string; the canonical literal of a boolean or number
	items  []*value // of a list
	fields []field  // of an object, in order of appearance, without duplicates

	height int // 1 for a scalar
	size   int // nodes with aliases written out, itself included
}

// field is one entry of an object.
type field struct {
	name  string
	line  int
	value *value
}

// Bounds on a document, so that a small file cannot become a large tree (F4).
const (
	maxDepth = 100     // a pod needs under 20
	maxNodes = 200_000 // with aliases written out
)

// get returns the field with this name, or nil. nil has no fields.
func (v *value) get(name string) *value {
	if f := v.field(name); f != nil {
		return f.value
	}
	return nil
}

func (v *value) field(name string) *field {
	if v == nil {
		return nil
	}
	i := slices.IndexFunc(v.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &v.fields[i]
}

// seal computes height and size once all parts are there.
func (v *value) seal() *value {
	v.height, v.size = 1, 1
	add := func(part *value) {
		v.height = max(v.height, part.height+1)
		v.size = min(v.size+part.size, maxNodes+1) // Saturates: ten aliases of ten aliases ...
	}
	for _, item := range v.items {
		add(item)
	}
	for _, f := range v.fields {
		add(f.value)
	}
	return v
}

// bounded says what is wrong with the size of a sealed value.
func (v *value) bounded() error {
	switch {
	case v.height > maxDepth:
		return fmt.Errorf("nested deeper than %d levels", maxDepth)
	case v.size > maxNodes:
		return fmt.Errorf("more than %d values once aliases are written out", maxNodes)
	}
	return nil
}

// appendJSON appends the canonical form: JSON without spaces, fields sorted.
// It depends on the document alone, not on the order or style in which it was
// written, nor on any Go type.
func (v *value) appendJSON(to []byte) []byte {
	switch v.kind {
	case null:
		return append(to, "null"...)
	case boolean, number:
		return append(to, v.text...)
	case text:
		return appendQuoted(to, v.text)
	case list:
		to = append(to, '[')
		for i, item := range v.items {
			if i > 0 {
				to = append(to, ',')
			}
			to = item.appendJSON(to)
		}
		return append(to, ']')
	}
	sorted := slices.SortedFunc(slices.Values(v.fields), func(a, b field) int { return strings.Compare(a.name, b.name) })
	to = append(to, '{')
	for i, f := range sorted {
		if i > 0 {
			to = append(to, ',')
		}
		to = appendQuoted(to, f.name)
		to = append(to, ':')
		to = f.value.appendJSON(to)
	}
	return append(to, '}')
}

func appendQuoted(to []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // A string cannot fail.
	return append(to, quoted...)
}

// show is a value as a message quotes it.
func (v *value) show() string {
	switch v.kind {
	case boolean, number:
		return shorten(v.text)
	case text:
		return quote(v.text)
	}
	return v.kind.String()
}

// maxShown bounds what of a value is quoted: a name may be ten kilobytes (F10).
const maxShown = 64

// quote makes any text safe to show, and short.
func quote(s string) string {
	if short := shorten(s); short != s {
		return strconv.Quote(strings.TrimSuffix(short, "...")) + "..."
	}
	return strconv.Quote(s)
}

func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	cut := maxShown
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}

// canonicalNumber writes a JSON number in one way whatever way it was written
// in: integers in decimal, others in the shortest form.
func canonicalNumber(literal string) (string, error) {
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return strconv.FormatInt(n, 10), nil
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return "", fmt.Errorf("%s is too large for a number", shorten(literal))
	}
	return strconv.FormatFloat(f, 'g', -1, 64), nil
}
