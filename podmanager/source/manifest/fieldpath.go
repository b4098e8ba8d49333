package manifest

import (
	"regexp"
	"slices"
	"strconv"
)

// fieldPath leads from a document to one of its values. nil is the document. Making
// one costs nothing but itself, so checks carry it along.
type fieldPath struct {
	parent *fieldPath
	name   string // of a field or map key
	index  int    // of an item, if name is empty and key false
	key    bool   // name is a key somebody chose, not a field
}

func (p *fieldPath) field(name string) *fieldPath { return &fieldPath{parent: p, name: name} }

func (p *fieldPath) at(i int) *fieldPath { return &fieldPath{parent: p, index: i} }

func (p *fieldPath) entry(key string) *fieldPath { return &fieldPath{parent: p, name: key, key: true} }

// fields is field for several steps.
func (p *fieldPath) fields(names ...string) *fieldPath {
	for _, name := range names {
		p = p.field(name)
	}
	return p
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)

// String is the path as people write it: spec.containers[0].name.
func (p *fieldPath) String() string {
	switch {
	case p == nil:
		return ""
	case p.key && plainKey.MatchString(p.name):
		return p.parent.String() + "[" + shorten(p.name) + "]"
	case p.key:
		return p.parent.String() + "[" + quote(p.name) + "]"
	case p.name == "":
		return p.parent.String() + "[" + strconv.Itoa(p.index) + "]"
	case p.parent == nil:
		return p.name
	}
	return p.parent.String() + "." + p.name
}

// line is where the value is in the document, or, if the document does not
// have it (because it is missing, or a default), the nearest thing around it.
func (p *fieldPath) line(doc *value) int {
	var steps []*fieldPath
	for s := p; s != nil; s = s.parent {
		steps = append(steps, s)
	}
	line := doc.line
	for _, s := range slices.Backward(steps) {
		if s.name == "" && !s.key {
			if s.index >= len(doc.items) {
				return line
			}
			doc = doc.items[s.index]
			line = doc.line
			continue
		}
		f := doc.field(s.name)
		if f == nil {
			return line
		}
		doc, line = f.value, f.line
	}
	return line
}
