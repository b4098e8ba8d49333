package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// readJSON makes a value of every document of a JSON stream. JSON is read as
// such, not as YAML, which does not know all of its escapes.
func readJSON(data []byte, b Bounds) (docs []*Value, faults Faults) {
	r := &jsonReader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.dec.UseNumber()
	for {
		v, err := r.read(1)
		if errors.Is(err, io.EOF) {
			return docs, r.faults
		}
		if err == nil {
			r.bytes += v.bytes
			_, err = b.passed(v, r.nodes, r.bytes)
		}
		if err != nil {
			return nil, append(r.faults, Fault{Line: r.errorLine(err), Reason: "not JSON: " + err.Error(), Syntax: true, Kind: faultKind(err)})
		}
		if v.Kind != Null {
			docs = append(docs, v)
		}
	}
}

// jsonReader reads tokens and knows on which line it is.
type jsonReader struct {
	data   []byte
	dec    *json.Decoder
	at     int64 // offset up to which lines are counted
	line   int
	nodes  int
	bytes  int64  // of texts and names
	faults Faults // duplicate fields
}

func (r *jsonReader) read(depth int) (*Value, error) {
	token, err := r.token()
	if err != nil {
		return nil, err
	}
	return r.value(token, depth)
}

// value reads the rest of the value that begins with token.
func (r *jsonReader) value(token json.Token, depth int) (*Value, error) {
	v := &Value{Line: r.lineAt(r.dec.InputOffset())}
	if r.nodes++; r.nodes > maxValues {
		return nil, boundErrorf("more than %d values", maxValues)
	}
	if depth > maxDepth {
		return nil, boundErrorf("nested deeper than %d levels", maxDepth)
	}
	var err error
	switch t := token.(type) {
	case nil:
	case bool:
		v.Kind, v.Text = Boolean, strconv.FormatBool(t)
	case string:
		v.Kind, v.Text = Text, t
	case json.Number:
		v.Kind = Number
		v.Text, err = canonicalNumber(string(t))
	case json.Delim:
		if t == '[' {
			v.Kind = List
			err = r.list(v, depth)
		} else {
			v.Kind = Object
			err = r.object(v, depth)
		}
	}
	return v.seal(), err
}

func (r *jsonReader) list(v *Value, depth int) error {
	for r.dec.More() {
		item, err := r.read(depth + 1)
		if err != nil {
			return unexpectedEnd(err)
		}
		v.Items = append(v.Items, item)
	}
	_, err := r.token()
	return unexpectedEnd(err)
}

func (r *jsonReader) object(v *Value, depth int) error {
	seen, at := map[string]int{}, map[string]int{}
	for r.dec.More() {
		key, err := r.token()
		if err != nil {
			return unexpectedEnd(err)
		}
		name, line := key.(string), r.lineAt(r.dec.InputOffset())
		child, err := r.read(depth + 1)
		if err != nil {
			return unexpectedEnd(err)
		}
		if seen[name] > 0 {
			r.faults = r.faults.duplicate(name, line, seen[name])
			v.Fields[at[name]] = Field{name, line, child}
			continue
		}
		seen[name], at[name] = line, len(v.Fields)
		v.Fields = append(v.Fields, Field{name, line, child})
	}
	_, err := r.token()
	return unexpectedEnd(err)
}

// errEnd is the end of the file within a document.
var errEnd = errors.New("unexpected EOF")

// token reads a token. A decoder over bytes in memory fails at the end, within a token,
// or with an error of syntax.
func (r *jsonReader) token() (json.Token, error) {
	token, err := r.dec.Token()
	var syntax *json.SyntaxError
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &syntax) {
		return nil, errEnd
	}
	return token, err
}

// unexpectedEnd tells the end of the file within a document from the one after it.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return errEnd
	}
	return err
}

// lineAt is asked with growing offsets only.
func (r *jsonReader) lineAt(offset int64) int {
	offset = max(offset, r.at)
	r.line += bytes.Count(r.data[r.at:offset], []byte{'\n'})
	r.at = offset
	return r.line
}

func (r *jsonReader) errorLine(err error) int {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return r.lineAt(min(syntax.Offset, int64(len(r.data))))
	}
	if errors.Is(err, errEnd) {
		return r.lineAt(int64(len(r.data)))
	}
	return r.line
}
