package podfields

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// errNotProtobuf means that a text is not a protobuf message.
var errNotProtobuf = errors.New("it is not a protobuf message")

// protobufMagic is the prefix of every API object in protobuf.
var protobufMagic = []byte("k8s\x00")

// FindInPod lists the fields of newer API versions that a pod sets, at most 100. The body is JSON, or protobuf in the
// envelope of the API, as clients and API servers send it. In protobuf the result contains all fields of the spec that
// the types in use lack. An error means that the rest of the body cannot be parsed, so that the list may be incomplete.
// FindInPod is safe for concurrent use.
func FindInPod(body []byte) ([]Found, error) {
	if raw, ok := bytes.CutPrefix(body, protobufMagic); ok {
		var envelope runtime.Unknown
		if err := envelope.Unmarshal(raw); err != nil {
			return nil, err
		}
		return unknownFieldsInProtobufPod(envelope.Raw)
	}
	var f finder
	err := f.collectInValue(json.NewDecoder(bytes.NewReader(body)), nil, 0)
	return f.found, err
}

// FindInPods is [FindInPod] for each pod of a list. The keys are indexes in the list.
func FindInPods(body []byte) (map[int][]Found, error) {
	if raw, ok := bytes.CutPrefix(body, protobufMagic); ok {
		var envelope runtime.Unknown
		if err := envelope.Unmarshal(raw); err != nil {
			return nil, err
		}
		return unknownFieldsInProtobufList(envelope.Raw)
	}
	all := map[int][]Found{}
	list := json.NewDecoder(bytes.NewReader(body))
	if err := readExpectedDelim(list, '{'); err != nil {
		return nil, err
	}
	err := forEachField(list, func(name string) error {
		if name != "items" {
			return list.Decode(&json.RawMessage{})
		}
		if err := readExpectedDelim(list, '['); err != nil {
			return err
		}
		return forEachItem(list, func(item int) error {
			f := finder{found: all[item]}
			err := f.collectInValue(list, nil, 0)
			all[item] = f.found
			return err
		})
	})
	return all, err
}

// Annotation lists the fields of the spec that the decoder of this program has ignored, separated by commas. Podkeel
// sets it on its own copy of a pod of an API server; the server's pod does not have it.
const Annotation = "podkeel.dev/newer-fields"

// maxFound is the maximum number of fields in a result.
const maxFound = 100

// Found is a field of a pod that belongs to a newer version of the API.
type Found struct {
	Path  string // such as spec.containers[0].volumeMounts[1].bindMountOptions
	Since string // the first version of Kubernetes that has it, such as 1.37; empty if unknown
}

// String returns the path of the field and why the pod is rejected.
func (f Found) String() string { return f.Path + ": " + Reason(f.Since) }

// Reason explains in a sentence why a pod with a field of a newer version is rejected. Messages put it behind the path.
func Reason(since string) string {
	if since == "" {
		return "a field of a newer version of Kubernetes, so the pod is refused"
	}
	return "a field of Kubernetes " + since + " that this version does not have, so the pod is refused"
}

// finder collects the newer fields of a pod in JSON. It reads token by token, because a decoder would merge the values
// of a field that occurs twice.
type finder struct{ found []Found }

// maxDepth is the maximum number of levels. A pod needs under 20.
const maxDepth = 1000

var errTooDeep = errors.New("the values are nested too deep")

// collectInValue reads the next JSON value and collects those fields in it that only newer API versions have.
// at is the path of the value, nil for the pod. It returns an error for malformed JSON and for a value that is
// nested too deeply.
func (f *finder) collectInValue(d *json.Decoder, at *pathStep, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	token, err := d.Token()
	switch {
	case err != nil:
		return err
	case token == json.Delim('{'):
		return forEachField(d, func(name string) error { return f.collectInField(d, &pathStep{at, name, -1}, depth+1) })
	case token == json.Delim('['):
		return forEachItem(d, func(i int) error {
			item := at
			if at != nil {
				item = &pathStep{at.parent, at.name, i}
			}
			return f.collectInValue(d, item, depth+1)
		})
	}
	return nil
}

// collectInField reads the value of the field at the path at. It collects the field if only newer API versions
// have it and the value is not null. For a field of this API version it collects such fields inside the value.
func (f *finder) collectInField(d *json.Decoder, at *pathStep, depth int) error {
	if !IsName(at.name) {
		return f.collectInValue(d, at, depth)
	}
	path, pattern := at.pathAndPattern()
	field, found := newer[pattern]
	if !found {
		return f.collectInValue(d, at, depth)
	}
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		return err
	}
	if string(value) != "null" && len(f.found) < maxFound {
		f.found = append(f.found, Found{path, field.since})
	}
	return nil
}

// readExpectedDelim reads the next JSON token. It returns an error if the token is not the delimiter begin.
func readExpectedDelim(d *json.Decoder, begin json.Delim) error {
	token, err := d.Token()
	if err == nil && token != begin {
		err = fmt.Errorf("expected %s", begin)
	}
	return err
}

// forEachField calls visit for each field of a JSON object, and reads the closing brace. The caller has read
// the opening brace, and visit must read the value. It stops at the first error.
func forEachField(d *json.Decoder, visit func(name string) error) error {
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if err := visit(fmt.Sprint(name)); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// forEachItem calls visit for each item of a JSON array, and reads the closing bracket. The caller has read the
// opening bracket, and visit must read the item. It stops at the first error.
func forEachItem(d *json.Decoder, visit func(i int) error) error {
	for i := 0; d.More(); i++ {
		if err := visit(i); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}
