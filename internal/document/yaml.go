package document

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

	"github.com/podkeel/podkeel/internal/plain"
)

// readYAML makes a value of every document of a YAML stream. Empty documents
// are left out. Duplicate keys and the like are gathered as faults, and what can be
// read is there all the same; a syntax error, or a bound that is passed, ends the
// stream, and there are no documents.
func readYAML(data []byte, b Bounds) (docs []*Value, faults Faults) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	r := yamlReader{bounds: b}
	for {
		var node yaml.Node
		if err := decodeYAML(dec, &node); errors.Is(err, io.EOF) {
			return docs, append(r.faults, r.duplicates...)
		} else if err != nil {
			return nil, append(r.faults, syntaxFault(err))
		}
		doc, ok := r.document(&node)
		if !ok || len(r.faults) > MaxFaults {
			return nil, r.faults
		}
		if doc != nil && doc.Kind != Null {
			docs = append(docs, doc)
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
	f := Fault{Reason: err.Error(), Syntax: true}
	if m := yamlLine.FindStringSubmatch(f.Reason); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		f.Reason = "not YAML: " + m[2]
	}
	return f
}

// yamlReader turns the nodes of all documents of a file into values.
type yamlReader struct {
	anchors map[*yaml.Node]*Value // of this document, once they have been read
	bounds  Bounds
	size    int   // of the documents so far, with aliases written out
	bytes   int64 // likewise
	merged  int   // fields that merge keys have brought in so far
	faults  Faults

	duplicates Faults // MaxFaults at most: with them the document can be read all the same
}

func (r *yamlReader) fault(n *yaml.Node, format string, args ...any) {
	if len(r.faults) <= MaxFaults {
		r.faults = append(r.faults, Fault{Line: n.Line, Reason: fmt.Sprintf(format, args...), Syntax: true})
	}
}

// document reads one document. It is not ok if a bound is passed.
func (r *yamlReader) document(n *yaml.Node) (v *Value, ok bool) {
	if n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return nil, true
		}
		n = n.Content[0]
	}
	r.anchors = map[*yaml.Node]*Value{}
	v = r.read(n, 1)
	if r.merged > maxValues {
		return nil, false
	}
	r.size, r.bytes = r.size+v.size, r.bytes+v.bytes
	if line, err := r.bounds.passed(v, r.size, r.bytes); err != nil {
		r.faults = append(r.faults, Fault{Line: line, Reason: err.Error(), Syntax: true, Kind: faultKind(err)})
		return nil, false
	}
	return v, true
}

// read never fails: what is wrong becomes a fault and a null that is bad.
func (r *yamlReader) read(n *yaml.Node, depth int) *Value {
	if depth > maxDepth+1 {
		return (&Value{Line: n.Line, height: maxDepth + 1, size: 1})
	}
	if n.Kind == yaml.AliasNode {
		return r.alias(n)
	}
	v := &Value{Line: n.Line}
	switch n.Kind {
	case yaml.ScalarNode:
		r.scalar(n, v)
	case yaml.SequenceNode:
		v.Kind = List
		for _, item := range n.Content {
			v.Items = append(v.Items, r.read(item, depth+1))
		}
	case yaml.MappingNode:
		v.Kind = Object
		r.mapping(n, v, depth)
	}
	v.seal()
	if n.Anchor != "" {
		r.anchors[n] = v
	}
	return v
}

func (r *yamlReader) alias(n *yaml.Node) *Value {
	if v := r.anchors[n.Alias]; v != nil {
		return v
	}
	r.fault(n, "alias *%s is inside what it stands for", n.Value)
	return (&Value{Line: n.Line, bad: true}).seal()
}

// mapping reads the fields of an object. What a merge key brings in gives way
// to what is written beside it, and earlier ones to later ones.
func (r *yamlReader) mapping(n *yaml.Node, v *Value, depth int) {
	seen, at := map[string]int{}, map[string]int{}
	var merged []*Value
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, child := n.Content[i], r.read(n.Content[i+1], depth+1)
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null":
			r.fault(key, "a key must be a plain word")
		case key.ShortTag() == "!!merge":
			merged = append(merged, r.mergeable(key, child)...)
		case seen[key.Value] > 0:
			r.duplicates = r.duplicates.duplicate(key.Value, key.Line, seen[key.Value])
			v.Fields[at[key.Value]] = Field{key.Value, key.Line, child}
		default:
			seen[key.Value], at[key.Value] = key.Line, len(v.Fields)
			v.Fields = append(v.Fields, Field{key.Value, key.Line, child})
		}
	}
	for _, m := range merged {
		if r.merged > maxValues {
			return
		}
		if r.merged += len(m.Fields); r.merged > maxValues {
			reason := fmt.Sprintf("more than %d fields from merge keys", maxValues)
			r.faults = append(r.faults, Fault{Line: n.Line, Reason: reason, Syntax: true, Kind: BeyondBound})
			return
		}
		for _, f := range m.Fields {
			if seen[f.Name] == 0 {
				seen[f.Name] = f.Line
				v.Fields = append(v.Fields, f)
			}
		}
	}
}

// mergeable is what a merge key brings in: an object, or a list of them.
func (r *yamlReader) mergeable(key *yaml.Node, v *Value) []*Value {
	candidates := []*Value{v}
	if v.Kind == List {
		candidates = v.Items
	}
	for _, c := range candidates {
		if c.Kind != Object {
			r.fault(key, "a merge key needs an object or a list of objects, not %s", c.Kind)
			return nil
		}
	}
	return candidates
}

func (r *yamlReader) scalar(n *yaml.Node, v *Value) {
	switch tag := n.ShortTag(); tag {
	case "!!null":
		v.Kind = Null
	case "!!bool", "!!int", "!!float":
		r.typed(n, v)
	case "!!str", "!!timestamp", "!!merge":
		v.Kind, v.Text = Text, n.Value
		if b, ok := oldBoolean[n.Value]; ok && n.Style == 0 && tag == "!!str" {
			v.Kind, v.Text = Boolean, strconv.FormatBool(b)
		}
	default:
		r.fault(n, "tag %s has no meaning in a manifest", plain.Quote(tag))
		v.bad = true
	}
}

// typed reads a boolean or a number.
func (r *yamlReader) typed(n *yaml.Node, v *Value) {
	var decoded any
	if err := n.Decode(&decoded); err != nil {
		r.fault(n, "%s is not %s", plain.Quote(n.Value), strings.TrimPrefix(n.ShortTag(), "!!"))
		v.bad = true
		return
	}
	v.Kind = Number
	switch d := decoded.(type) {
	case bool:
		v.Kind, v.Text = Boolean, strconv.FormatBool(d)
	case float64:
		if math.IsNaN(d) || math.IsInf(d, 0) {
			r.fault(n, "%s is not a number", plain.Quote(n.Value))
			v.Kind, v.bad = Null, true
			return
		}
		v.Text = strconv.FormatFloat(d, 'g', -1, 64)
	default: // some width of integer
		v.Text = fmt.Sprint(d)
	}
}

// oldBoolean has the words that are booleans in YAML 1.1, and so for kubectl
// and the kubelet. Reading them in the newer way would make a manifest valid
// here and nowhere else.
var oldBoolean = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}
