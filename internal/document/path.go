package document

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/podkeel/podkeel/internal/plain"
)

// Path identifies a value of a document by the fields and indexes that lead to it. nil is the document itself. A Path
// is cheap to make: it holds its last step and a pointer to its parent.
type Path struct {
	parent   *Path
	name     string // of a field, or a map key
	index    int    // of a list item, if name is empty and isMapKey is false
	isMapKey bool   // name is a map key that the author chose, not a field
}

// Field returns the path of a field of an object.
func (p *Path) Field(name string) *Path { return &Path{parent: p, name: name} }

// At returns the path of an item of a list.
func (p *Path) At(i int) *Path { return &Path{parent: p, index: i} }

// Entry returns the path of the map value with the key.
func (p *Path) Entry(key string) *Path { return &Path{parent: p, name: key, isMapKey: true} }

var unquotedKey = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)

// String formats the path as spec.containers[0].name. It cuts a long name. It quotes a name with characters that no field
// has, because the author of the document chooses the names of unknown fields too.
func (p *Path) String() string {
	switch {
	case p == nil:
		return ""
	case p.isMapKey:
		return p.parent.String() + "[" + shortenAndQuoteName(p.name) + "]"
	case p.name == "":
		return p.parent.String() + "[" + strconv.Itoa(p.index) + "]"
	case p.parent == nil:
		return shortenAndQuoteName(p.name)
	}
	return p.parent.String() + "." + shortenAndQuoteName(p.name)
}

// shortenAndQuoteName cuts a long name, and quotes a name that unquotedKey does not match.
func shortenAndQuoteName(name string) string {
	if unquotedKey.MatchString(name) {
		return plain.Shorten(name)
	}
	return plain.Quote(name)
}

// Line returns the line of the value in the document. If the document lacks the value, because it is missing or a
// default, Line returns the line of the nearest value around it.
func (p *Path) Line(doc *Value) int {
	var steps []*Path
	for s := p; s != nil; s = s.parent {
		steps = append(steps, s)
	}
	line := doc.Line
	for _, s := range slices.Backward(steps) {
		if s.name == "" && !s.isMapKey {
			if s.index >= len(doc.Items) {
				return line
			}
			doc = doc.Items[s.index]
			line = doc.Line
			continue
		}
		f := doc.findField(s.name)
		if f == nil {
			return line
		}
		doc, line = f.Value, f.Line
	}
	return line
}

// Within reports whether p is other, or lies inside it.
func (p *Path) Within(other *Path) bool {
	for ; p != nil; p = p.parent {
		if p.equalsPath(other) {
			return true
		}
	}
	return other == nil
}

// equalsPath reports whether both paths have the same field names, map keys and indexes.
func (p *Path) equalsPath(other *Path) bool {
	for ; p != nil && other != nil; p, other = p.parent, other.parent {
		if p == other {
			return true
		}
		if p.name != other.name || p.index != other.index || p.isMapKey != other.isMapKey {
			return false
		}
	}
	return p == other
}

// Path parses the path of a field as field.Error of apimachinery formats it. A map key may contain any characters, so
// it must be the last step.
func (v *Value) Path(field string) *Path {
	var p *Path
	for at, rest := v, field; rest != ""; {
		var next *Path
		if rest[0] == '[' {
			next, rest = at.parseSubscript(p, rest)
		} else {
			rest = strings.TrimPrefix(rest, ".")
			end := max(strings.IndexAny(rest+".", ".["), 0)
			next, rest = p.Field(rest[:end]), rest[end:]
		}
		p, at = next, next.childIn(at)
	}
	return p
}

// parseSubscript parses a subscript such as [0] or [key] at the beginning of text. It returns p extended by the
// subscript, and the rest of the text. The subscript is a map key if v is an object or the subscript is no
// number; any other subscript is a list index.
func (v *Value) parseSubscript(p *Path, text string) (next *Path, rest string) {
	if v != nil && v.Kind == Object {
		return p.Entry(strings.TrimSuffix(text[1:], "]")), ""
	}
	inner, rest, _ := strings.Cut(text[1:], "]")
	if i, err := strconv.Atoi(inner); err == nil && i >= 0 {
		return p.At(i), rest
	}
	return p.Entry(strings.TrimSuffix(text[1:], "]")), ""
}

// childIn returns the field or the item of parent that the last step of p names. It returns nil if parent has
// none.
func (p *Path) childIn(parent *Value) *Value {
	switch {
	case p.name != "" || p.isMapKey:
		return parent.Get(p.name)
	case parent == nil || p.index >= len(parent.Items):
		return nil
	}
	return parent.Items[p.index]
}
