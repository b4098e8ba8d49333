package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// readNonNullJSONDocuments parses all documents of a JSON stream and leaves out null documents. After a syntax
// error, or if a bound is exceeded, it returns no documents and adds a fault. A YAML parser cannot replace it,
// because YAML lacks some escapes of JSON.
func readNonNullJSONDocuments(data []byte, b Bounds) (docs []*Value, faults Faults) {
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

// readValue reads the next value. depth is its level of nesting, 1 for a document.
func (r *jsonReader) readValue(depth int) (*Value, error) {
	token, err := r.nextToken()
	if err != nil {
		return nil, err
	}
	return r.parseValue(token, depth)
}

// parseValue reads the rest of the value whose first token is token. It returns an error for faulty JSON, for a
// number outside the range of float64, and if the value is nested too deeply or the file has too many values.
func (r *jsonReader) parseValue(token json.Token, depth int) (*Value, error) {
	v := &Value{Line: r.advanceToOffset(r.dec.InputOffset())}
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

// readObject reads the fields of an object and its closing brace into v. If the object has a field twice, it
// adds a fault and keeps the last value.
func (r *jsonReader) readObject(v *Value, depth int) error {
	seen, position := map[string]int{}, map[string]int{}
	for r.dec.More() {
		key, err := r.nextToken()
		if err != nil {
			return toUnexpectedEOF(err)
		}
		name, line := key.(string), r.advanceToOffset(r.dec.InputOffset())
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

// nextToken reads the next token of the JSON text. At the end of the text it returns io.EOF, or
// errUnexpectedEOF within a token. It returns syntax errors unchanged.
func (r *jsonReader) nextToken() (json.Token, error) {
	token, err := r.dec.Token()
	var syntax *json.SyntaxError
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &syntax) {
		return nil, errUnexpectedEOF
	}
	return token, err
}

// toUnexpectedEOF replaces io.EOF by errUnexpectedEOF and returns any other error unchanged. Inside a value
// io.EOF is a fault. Between two documents it is the regular end of the file.
func toUnexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errUnexpectedEOF
	}
	return err
}

// advanceToOffset counts the lines up to an offset, and returns the line of the offset. An offset before the
// last one counts as the last one.
func (r *jsonReader) advanceToOffset(offset int64) (line int) {
	offset = max(offset, r.countedTo)
	r.line += bytes.Count(r.data[r.countedTo:offset], []byte{'\n'})
	r.countedTo = offset
	return r.line
}

// lineOfError returns the line for an error of the parser: the line of a syntax error, the last line if the
// text ended too early, and the line read last for any other error.
func (r *jsonReader) lineOfError(err error) int {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return r.advanceToOffset(min(syntax.Offset, int64(len(r.data))))
	}
	if errors.Is(err, errUnexpectedEOF) {
		return r.advanceToOffset(int64(len(r.data)))
	}
	return r.line
}
