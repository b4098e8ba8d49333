package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// readJSON parses every document of a JSON stream. It uses a JSON parser, because YAML does not have all escapes of
// JSON.
func readJSON(data []byte, b Bounds) (docs []*Value, faults Faults) {
	r := &jsonReader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.dec.UseNumber()
	for {
		v, err := r.readValue(1)
		if errors.Is(err, io.EOF) {
			return docs, r.faults
		}
		if err == nil {
			r.bytes += v.bytes
			_, err = b.checkDocument(v, r.nodes, r.bytes)
		}
		if err != nil {
			return nil, append(r.faults, Fault{Line: r.lineOfError(err), Reason: "not JSON: " + err.Error(), Syntax: true, Kind: faultKindOf(err)})
		}
		if v.Kind != Null {
			docs = append(docs, v)
		}
	}
}

// jsonReader reads JSON tokens and counts lines.
type jsonReader struct {
	data      []byte
	dec       *json.Decoder
	countedTo int64 // the offset up to which lines are counted
	line      int
	nodes     int
	bytes     int64  // of strings and field names
	faults    Faults // duplicate fields
}

// readValue reads the next value, which is on the given level.
func (r *jsonReader) readValue(depth int) (*Value, error) {
	token, err := r.nextToken()
	if err != nil {
		return nil, err
	}
	return r.parseValue(token, depth)
}

// parseValue reads the rest of the value that begins with token.
func (r *jsonReader) parseValue(token json.Token, depth int) (*Value, error) {
	v := &Value{Line: r.lineAtOffset(r.dec.InputOffset())}
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
			err = r.readList(v, depth)
		} else {
			v.Kind = Object
			err = r.readObject(v, depth)
		}
	}
	return v.computeTotals(), err
}

// readList reads the items of a list and its closing bracket into v.
func (r *jsonReader) readList(v *Value, depth int) error {
	for r.dec.More() {
		item, err := r.readValue(depth + 1)
		if err != nil {
			return toUnexpectedEOF(err)
		}
		v.Items = append(v.Items, item)
	}
	_, err := r.nextToken()
	return toUnexpectedEOF(err)
}

// readObject reads the fields of an object and its closing brace into v. Of duplicate fields the last one is used.
func (r *jsonReader) readObject(v *Value, depth int) error {
	seen, position := map[string]int{}, map[string]int{}
	for r.dec.More() {
		key, err := r.nextToken()
		if err != nil {
			return toUnexpectedEOF(err)
		}
		name, line := key.(string), r.lineAtOffset(r.dec.InputOffset())
		child, err := r.readValue(depth + 1)
		if err != nil {
			return toUnexpectedEOF(err)
		}
		if seen[name] > 0 {
			r.faults = r.faults.addDuplicateField(name, line, seen[name])
			v.Fields[position[name]] = Field{name, line, child}
			continue
		}
		seen[name], position[name] = line, len(v.Fields)
		v.Fields = append(v.Fields, Field{name, line, child})
	}
	_, err := r.nextToken()
	return toUnexpectedEOF(err)
}

// errUnexpectedEOF means that the file ends within a document.
var errUnexpectedEOF = errors.New("unexpected EOF")

// nextToken reads the next token. A decoder that reads from memory fails with a syntax error, or because the text ends
// within a token.
func (r *jsonReader) nextToken() (json.Token, error) {
	token, err := r.dec.Token()
	var syntax *json.SyntaxError
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &syntax) {
		return nil, errUnexpectedEOF
	}
	return token, err
}

// toUnexpectedEOF turns io.EOF, which means the end of the file between documents, into errUnexpectedEOF.
func toUnexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errUnexpectedEOF
	}
	return err
}

// lineAtOffset returns the line of an offset. The offsets of successive calls must not decrease.
func (r *jsonReader) lineAtOffset(offset int64) int {
	offset = max(offset, r.countedTo)
	r.line += bytes.Count(r.data[r.countedTo:offset], []byte{'\n'})
	r.countedTo = offset
	return r.line
}

// lineOfError returns the line at which the parser failed.
func (r *jsonReader) lineOfError(err error) int {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return r.lineAtOffset(min(syntax.Offset, int64(len(r.data))))
	}
	if errors.Is(err, errUnexpectedEOF) {
		return r.lineAtOffset(int64(len(r.data)))
	}
	return r.line
}
