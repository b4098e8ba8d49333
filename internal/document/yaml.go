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

// readYAML parses all documents of a YAML stream and leaves out empty ones. Faults such as duplicate keys do
// not drop the documents. After a syntax error, too many faults, or if a bound is exceeded, it returns no
// documents.
func readYAML(data []byte, b Bounds) (docs []*Value, faults Faults) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	r := yamlReader{bounds: b}
	for {
		var node yaml.Node
		if err := decodeYAMLRecovering(dec, &node); errors.Is(err, io.EOF) {
			return docs, append(r.faults, r.duplicates...)
		} else if err != nil {
			return nil, append(r.faults, syntaxFault(err))
		}
		doc, ok := r.readDocument(&node)
		if !ok || len(r.faults) > MaxFaults {
			return nil, r.faults
		}
		if doc != nil && doc.Kind != Null {
			docs = append(docs, doc)
		}
	}
}

// decodeYAMLRecovering decodes the next document. It recovers a panic of the YAML library and returns it as an
// error, so that no manifest can crash the agent.
func decodeYAMLRecovering(dec *yaml.Decoder, node *yaml.Node) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("not YAML: %v", v)
		}
	}()
	return dec.Decode(node)
}

// yamlErrorText matches a syntax error. The library gives the line only in the text of the error.
var yamlErrorText = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// maxSyntaxError is the maximum length in bytes of an error of the YAML library in a fault. The error may contain a
// name from the document.
const maxSyntaxError = 256

// syntaxFault converts an error of the YAML library to a fault. The fault has the line if the error names one. It cuts a
// long error.
func syntaxFault(err error) Fault {
	f := Fault{Reason: err.Error(), Syntax: true}
	if m := yamlErrorText.FindStringSubmatch(f.Reason); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		f.Reason = "not YAML: " + m[2]
	}
	if len(f.Reason) > maxSyntaxError {
		f.Reason = strings.ToValidUTF8(f.Reason[:maxSyntaxError], "") + "..."
	}
	return f
}

// yamlReader converts the YAML nodes of all documents of a file into values.
type yamlReader struct {
	anchors      map[*yaml.Node]*Value // of the current document, after they were read
	bounds       Bounds
	size         int   // of the documents so far, with aliases expanded
	bytes        int64 // of the documents so far, with aliases expanded
	mergedFields int   // number of fields from merge keys so far
	faults       Faults

	duplicates Faults // at most MaxFaults; they do not make a document unreadable
}

// addFault adds a fault on the line of a node. It does nothing if the list already has more than MaxFaults
// faults.
func (r *yamlReader) addFault(n *yaml.Node, format string, args ...any) {
	if len(r.faults) <= MaxFaults {
		r.faults = append(r.faults, Fault{Line: n.Line, Reason: fmt.Sprintf(format, args...), Syntax: true})
	}
}

// readDocument converts one document to a value. v is nil if the document is empty. If a bound is exceeded, it
// adds a fault and returns false.
func (r *yamlReader) readDocument(n *yaml.Node) (v *Value, ok bool) {
	if n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return nil, true
		}
		n = n.Content[0]
	}
	r.anchors = map[*yaml.Node]*Value{}
	v = r.readNode(n, 1)
	if r.mergedFields > maxValues {
		return nil, false
	}
	r.size, r.bytes = r.size+v.size, r.bytes+v.bytes
	if line, err := r.bounds.checkDocument(v, r.size, r.bytes); err != nil {
		r.faults = append(r.faults, Fault{Line: line, Reason: err.Error(), Syntax: true, Kind: faultKindOf(err)})
		return nil, false
	}
	return v, true
}

// readNode converts a node to a value. For a faulty node it adds a fault and returns a null with the flag
// unreadable. Beyond maxDepth it returns a placeholder, which Bounds.checkDocument rejects.
func (r *yamlReader) readNode(n *yaml.Node, depth int) *Value {
	if depth > maxDepth+1 {
		return (&Value{Line: n.Line, height: maxDepth + 1, size: 1})
	}
	if n.Kind == yaml.AliasNode {
		return r.resolveAlias(n)
	}
	v := &Value{Line: n.Line}
	switch n.Kind {
	case yaml.ScalarNode:
		r.readScalar(n, v)
	case yaml.SequenceNode:
		v.Kind = List
		for _, item := range n.Content {
			v.Items = append(v.Items, r.readNode(item, depth+1))
		}
	case yaml.MappingNode:
		v.Kind = Object
		r.readMapping(n, v, depth)
	}
	v.computeTotals()
	if n.Anchor != "" {
		r.anchors[n] = v
	}
	return v
}

// resolveAlias returns the value of the anchor that an alias names. For an alias within its own anchor it adds
// a fault and returns a null with the flag unreadable.
func (r *yamlReader) resolveAlias(n *yaml.Node) *Value {
	if v := r.anchors[n.Alias]; v != nil {
		return v
	}
	r.addFault(n, "alias *%s is inside what it stands for", n.Value)
	return (&Value{Line: n.Line, unreadable: true}).computeTotals()
}

// readMapping reads the fields of an object into v. It adds a fault for a duplicate key and keeps the last
// value. Fields written in the object override fields from merge keys (<<), and earlier merge keys override
// later ones. It stops with a fault if merge keys add too many fields.
func (r *yamlReader) readMapping(n *yaml.Node, v *Value, depth int) {
	seen, position := map[string]int{}, map[string]int{}
	var merged []*Value
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, child := n.Content[i], r.readNode(n.Content[i+1], depth+1)
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null":
			r.addFault(key, "a key must be a plain word")
		case key.ShortTag() == "!!merge":
			merged = append(merged, r.mergedObjectsOrFault(key, child)...)
		case seen[key.Value] > 0:
			r.duplicates = r.duplicates.addDuplicateField(key.Value, key.Line, seen[key.Value])
			v.Fields[position[key.Value]] = Field{key.Value, key.Line, child}
		default:
			seen[key.Value], position[key.Value] = key.Line, len(v.Fields)
			v.Fields = append(v.Fields, Field{key.Value, key.Line, child})
		}
	}
	for _, m := range merged {
		if r.mergedFields > maxValues {
			return
		}
		if r.mergedFields += len(m.Fields); r.mergedFields > maxValues {
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

// mergedObjectsOrFault returns the objects that v, the value of a merge key (<<), lists: v itself or the items of v.
// If one is not an object, it adds a fault and returns nil.
func (r *yamlReader) mergedObjectsOrFault(key *yaml.Node, v *Value) []*Value {
	candidates := []*Value{v}
	if v.Kind == List {
		candidates = v.Items
	}
	for _, c := range candidates {
		if c.Kind != Object {
			r.addFault(key, "a merge key needs an object or a list of objects, not %s", c.Kind)
			return nil
		}
	}
	return candidates
}

// readScalar sets the kind and the text of v from a scalar node. Unquoted words such as yes and off are
// booleans, as in YAML 1.1. For an unknown tag it adds a fault and sets the flag unreadable of v.
func (r *yamlReader) readScalar(n *yaml.Node, v *Value) {
	switch tag := n.ShortTag(); tag {
	case "!!null":
		v.Kind = Null
	case "!!bool", "!!int", "!!float":
		r.readTypedScalar(n, v)
	case "!!str", "!!timestamp", "!!merge":
		v.Kind, v.Text = Text, n.Value
		if b, ok := yaml11Booleans[n.Value]; ok && n.Style == 0 && tag == "!!str" {
			v.Kind, v.Text = Boolean, strconv.FormatBool(b)
		}
	default:
		r.addFault(n, "tag %s has no meaning in a manifest", plain.Quote(tag))
		v.unreadable = true
	}
}

// readTypedScalar sets v from a scalar that YAML resolves to a boolean or a number. For NaN, infinity and text
// that cannot be decoded it adds a fault and sets the flag unreadable of v.
func (r *yamlReader) readTypedScalar(n *yaml.Node, v *Value) {
	var decoded any
	if err := n.Decode(&decoded); err != nil {
		r.addFault(n, "%s is not %s", plain.Quote(n.Value), strings.TrimPrefix(n.ShortTag(), "!!"))
		v.unreadable = true
		return
	}
	v.Kind = Number
	switch d := decoded.(type) {
	case bool:
		v.Kind, v.Text = Boolean, strconv.FormatBool(d)
	case float64:
		if math.IsNaN(d) || math.IsInf(d, 0) {
			r.addFault(n, "%s is not a number", plain.Quote(n.Value))
			v.Kind, v.unreadable = Null, true
			return
		}
		v.Text = strconv.FormatFloat(d, 'g', -1, 64)
	default: // some width of integer
		v.Text = fmt.Sprint(d)
	}
}

// yaml11Booleans are the words that are booleans in YAML 1.1, which kubectl and the kubelet use. With the words of YAML
// 1.2 a manifest could be valid here and invalid there.
var yaml11Booleans = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}
