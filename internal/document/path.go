package document

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/podkeel/podkeel/internal/plain"
)

// Path leads from a document to one of its values. nil is the document. Making
// one costs nothing but itself, so checks carry it along.
type Path struct {
	parent *Path
	name   string // of a field or map key
	index  int    // of an item, if name is empty and key false
	key    bool   // name is a key somebody chose, not a field
}

// Field is the path of a field of an object.
func (p *Path) Field(name string) *Path { return &Path{parent: p, name: name} }

// At is the path of an item of a list.
func (p *Path) At(i int) *Path { return &Path{parent: p, index: i} }

// Entry is the path of a value with a key that somebody chose.
func (p *Path) Entry(key string) *Path { return &Path{parent: p, name: key, key: true} }

var plainKey = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)

// String is the path as people write it: spec.containers[0].name.
func (p *Path) String() string {
	switch {
	case p == nil:
		return ""
	case p.key && plainKey.MatchString(p.name):
		return p.parent.String() + "[" + plain.Shorten(p.name) + "]"
	case p.key:
		return p.parent.String() + "[" + plain.Quote(p.name) + "]"
	case p.name == "":
		return p.parent.String() + "[" + strconv.Itoa(p.index) + "]"
	case p.parent == nil:
		return p.name
	}
	return p.parent.String() + "." + p.name
}

// Line is where the value is in the document, or, if the document does not
// have it (because it is missing, or a default), the nearest thing around it.
func (p *Path) Line(doc *Value) int {
	var steps []*Path
	for s := p; s != nil; s = s.parent {
		steps = append(steps, s)
	}
	line := doc.Line
	for _, s := range slices.Backward(steps) {
		if s.name == "" && !s.key {
			if s.index >= len(doc.Items) {
				return line
			}
			doc = doc.Items[s.index]
			line = doc.Line
			continue
		}
		f := doc.field(s.name)
		if f == nil {
			return line
		}
		doc, line = f.Value, f.Line
	}
	return line
}

// Within reports that the value at p is at other or inside it.
func (p *Path) Within(other *Path) bool {
	for ; p != nil; p = p.parent {
		if p.same(other) {
			return true
		}
	}
	return other == nil
}

func (p *Path) same(other *Path) bool {
	for ; p != nil && other != nil; p, other = p.parent, other.parent {
		if p == other {
			return true
		}
		if p.name != other.name || p.index != other.index || p.key != other.key {
			return false
		}
	}
	return p == other
}

// Path is the path of a field, such as field.Error of apimachinery has it. A key that
// somebody chose may hold any characters, so it has to be the last step.
func (v *Value) Path(field string) *Path {
	var p *Path
	for at, rest := v, field; rest != ""; {
		var next *Path
		if rest[0] == '[' {
			next, rest = at.subscript(p, rest)
		} else {
			rest = strings.TrimPrefix(rest, ".")
			end := max(strings.IndexAny(rest+".", ".["), 0)
			next, rest = p.Field(rest[:end]), rest[end:]
		}
		p, at = next, next.step(at)
	}
	return p
}

// subscript is the path beneath p of what begins with a bracket, and what is left of
// that: a key of the object, an item of a list, or a key that the document lacks.
func (v *Value) subscript(p *Path, s string) (next *Path, rest string) {
	if v != nil && v.Kind == Object {
		return p.Entry(strings.TrimSuffix(s[1:], "]")), ""
	}
	inner, rest, _ := strings.Cut(s[1:], "]")
	if i, err := strconv.Atoi(inner); err == nil && i >= 0 {
		return p.At(i), rest
	}
	return p.Entry(strings.TrimSuffix(s[1:], "]")), ""
}

// step is the value that the last step of a path leads to, or nil.
func (p *Path) step(from *Value) *Value {
	switch {
	case p.name != "" || p.key:
		return from.Get(p.name)
	case from == nil || p.index >= len(from.Items):
		return nil
	}
	return from.Items[p.index]
}
