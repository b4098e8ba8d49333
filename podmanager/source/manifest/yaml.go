package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readYAML makes a value of every document of a YAML stream. Empty documents
// are left out. Duplicate keys and the like are gathered as faults; a syntax
// error ends the stream.
func readYAML(data []byte) (docs []*value, faults Faults) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var node yaml.Node
		if err := decodeYAML(dec, &node); errors.Is(err, io.EOF) {
			return docs, faults
		} else if err != nil {
			return nil, append(faults, syntaxFault(err))
		}
		r := yamlReader{anchors: map[*yaml.Node]*value{}}
		doc := r.document(&node)
		faults = append(faults, r.faults...)
		if doc != nil && doc.kind != null {
			docs = append(docs, doc)
		}
		if len(faults) > maxFaults {
			return nil, faults
		}
	}
}

// decodeYAML contains what the library does not: a manifest must not be able to
// end the agent.
func decodeYAML(dec *yaml.Decoder, node *yaml.Node) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("not YAML: %v", v)
		}
	}()
	return dec.Decode(node)
}

// The library gives the line of a syntax error only within its text.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

func syntaxFault(err error) Fault {
	f := Fault{Reason: err.Error(), syntax: true}
	if m := yamlLine.FindStringSubmatch(f.Reason); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		f.Reason = "not YAML: " + m[2]
	}
	return f
}

// yamlReader turns one document's nodes into values.
type yamlReader struct {
	anchors map[*yaml.Node]*value // nil while the anchored node is being read
	merged  int                   // fields that merge keys have brought in so far
	faults  Faults
}

func (r *yamlReader) fault(n *yaml.Node, format string, args ...any) {
	if len(r.faults) <= maxFaults {
		r.faults = append(r.faults, Fault{Line: n.Line, Reason: fmt.Sprintf(format, args...), syntax: true})
	}
}

func (r *yamlReader) document(n *yaml.Node) *value {
	if n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return nil
		}
		n = n.Content[0]
	}
	v := r.read(n, 1)
	if err := v.bounded(); err != nil {
		r.fault(n, "%v", err)
	}
	return v
}

// read never fails: what is wrong becomes a fault and a null.
func (r *yamlReader) read(n *yaml.Node, depth int) *value {
	if depth > maxDepth+1 {
		return (&value{line: n.Line, height: maxDepth + 1, size: 1})
	}
	if n.Kind == yaml.AliasNode {
		return r.alias(n)
	}
	if n.Anchor != "" {
		r.anchors[n] = nil
	}
	v := &value{line: n.Line}
	switch n.Kind {
	case yaml.ScalarNode:
		r.scalar(n, v)
	case yaml.SequenceNode:
		v.kind = list
		for _, item := range n.Content {
			v.items = append(v.items, r.read(item, depth+1))
		}
	case yaml.MappingNode:
		v.kind = object
		r.mapping(n, v, depth)
	}
	v.seal()
	if n.Anchor != "" {
		r.anchors[n] = v
	}
	return v
}

func (r *yamlReader) alias(n *yaml.Node) *value {
	if v := r.anchors[n.Alias]; v != nil {
		return v
	}
	r.fault(n, "alias *%s is inside what it stands for", n.Value)
	return (&value{line: n.Line}).seal()
}

// mapping reads the fields of an object. What a merge key brings in gives way
// to what is written beside it, and earlier ones to later ones.
func (r *yamlReader) mapping(n *yaml.Node, v *value, depth int) {
	seen := make(map[string]int, len(n.Content)/2)
	var merged []*value
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, child := n.Content[i], r.read(n.Content[i+1], depth+1)
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null":
			r.fault(key, "a key must be a plain word")
		case key.ShortTag() == "!!merge":
			merged = append(merged, r.mergeable(key, child)...)
		case seen[key.Value] > 0:
			r.fault(key, "duplicate field %s (first on line %d)", quote(key.Value), seen[key.Value])
		default:
			seen[key.Value] = key.Line
			v.fields = append(v.fields, field{key.Value, key.Line, child})
		}
	}
	for _, m := range merged {
		if r.merged += len(m.fields); r.merged > maxNodes {
			r.fault(n, "more than %d fields from merge keys", maxNodes)
			return
		}
		for _, f := range m.fields {
			if seen[f.name] == 0 {
				seen[f.name] = f.line
				v.fields = append(v.fields, f)
			}
		}
	}
}

// mergeable is what a merge key brings in: an object, or a list of them.
func (r *yamlReader) mergeable(key *yaml.Node, v *value) []*value {
	candidates := []*value{v}
	if v.kind == list {
		candidates = v.items
	}
	for _, c := range candidates {
		if c.kind != object {
			r.fault(key, "a merge key needs an object or a list of objects, not %s", c.kind)
			return nil
		}
	}
	return candidates
}

func (r *yamlReader) scalar(n *yaml.Node, v *value) {
	switch tag := n.ShortTag(); tag {
	case "!!null":
		v.kind = null
	case "!!bool", "!!int", "!!float":
		r.typed(n, v)
	case "!!str", "!!timestamp", "!!merge":
		v.kind, v.text = text, n.Value
		if b, ok := oldBoolean[n.Value]; ok && n.Style == 0 && tag == "!!str" {
			v.kind, v.text = boolean, strconv.FormatBool(b)
		}
	default:
		r.fault(n, "tag %s has no meaning in a manifest", quote(tag))
	}
}

// typed reads a boolean or a number.
func (r *yamlReader) typed(n *yaml.Node, v *value) {
	var decoded any
	if err := n.Decode(&decoded); err != nil {
		r.fault(n, "%s is not %s", quote(n.Value), strings.TrimPrefix(n.ShortTag(), "!!"))
		return
	}
	v.kind = number
	switch d := decoded.(type) {
	case bool:
		v.kind, v.text = boolean, strconv.FormatBool(d)
	case float64:
		if math.IsNaN(d) || math.IsInf(d, 0) {
			r.fault(n, "%s is not a number", quote(n.Value))
		}
		v.text = strconv.FormatFloat(d, 'g', -1, 64)
	default: // some width of integer
		v.text = fmt.Sprint(d)
	}
}

// oldBoolean has the words that are booleans in YAML 1.1, and so for kubectl
// and the kubelet. Reading them in the newer way would make a manifest valid
// here and nowhere else.
var oldBoolean = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}
