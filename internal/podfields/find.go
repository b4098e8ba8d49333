package podfields

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// errMessage means that a text is no message of protobuf.
var errMessage = errors.New("it is no message of protobuf")

// protobufMagic begins each object in protobuf.
var protobufMagic = []byte("k8s\x00")

// FindInPod lists the fields of a newer version in a pod as clients and API servers send it: JSON, or
// protobuf in the envelope of the API. It lists at most 100. In protobuf these are all fields of the spec
// that the types in use lack. The error means that the rest of the body cannot be read, so that the list
// is not complete. FindInPod may be called from anywhere.
func FindInPod(body []byte) ([]Found, error) {
	if raw, ok := bytes.CutPrefix(body, protobufMagic); ok {
		var envelope runtime.Unknown
		if err := envelope.Unmarshal(raw); err != nil {
			return nil, err
		}
		return findWire(envelope.Raw)
	}
	var f finder
	err := f.scanValue(json.NewDecoder(bytes.NewReader(body)), nil, 0)
	return f.found, err
}

// FindInPods is [FindInPod] for each pod of a list, by its place in the list.
func FindInPods(body []byte) (map[int][]Found, error) {
	if raw, ok := bytes.CutPrefix(body, protobufMagic); ok {
		var envelope runtime.Unknown
		if err := envelope.Unmarshal(raw); err != nil {
			return nil, err
		}
		return findWireItems(envelope.Raw)
	}
	all := map[int][]Found{}
	list := json.NewDecoder(bytes.NewReader(body))
	if err := expect(list, '{'); err != nil {
		return nil, err
	}
	err := scanFields(list, func(name string) error {
		if name != "items" {
			return list.Decode(&json.RawMessage{})
		}
		if err := expect(list, '['); err != nil {
			return err
		}
		return scanItems(list, func(item int) error {
			f := finder{found: all[item]}
			err := f.scanValue(list, nil, 0)
			all[item] = f.found
			return err
		})
	})
	return all, err
}

// Annotation, on a pod of an API server, names the fields of its spec that this program's decoder has
// dropped, separated by commas. The server does not have it.
const Annotation = "podkeel.dev/newer-fields"

// maxFound bounds the fields that are listed.
const maxFound = 100

// Found is a field of a document that a newer version of the API has.
type Found struct {
	Path  string // such as spec.containers[0].volumeMounts[1].bindMountOptions
	Since string // the first version of Kubernetes that has it, such as 1.37; empty if that is not known
}

// String names the field and says what happens now.
func (f Found) String() string { return f.Path + ": " + Reason(f.Since) }

// Reason is the sentence about a field of a newer version, which people read after its path.
func Reason(since string) string {
	if since == "" {
		return "a field of a newer version of Kubernetes, so the pod is refused"
	}
	return "a field of Kubernetes " + since + " that this version does not have, so the pod is refused"
}

// finder looks for the fields that newer lists. It reads JSON token by token: a decoder merges the values
// of a field that is there twice, so each of them counts.
type finder struct{ found []Found }

// maxDepth bounds how deep values lie in each other. A pod needs under 20 levels.
const maxDepth = 1000

var errDepth = errors.New("its values lie too deep in each other")

// scanValue adds the newer fields in the next value, which is the field at.
func (f *finder) scanValue(d *json.Decoder, at *step, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	token, err := d.Token()
	switch {
	case err != nil:
		return err
	case token == json.Delim('{'):
		return scanFields(d, func(name string) error { return f.scanField(d, &step{at, name, -1}, depth+1) })
	case token == json.Delim('['):
		return scanItems(d, func(i int) error {
			item := at
			if at != nil {
				item = &step{at.above, at.name, i}
			}
			return f.scanValue(d, item, depth+1)
		})
	}
	return nil
}

// scanField adds a field if it is a newer one and not null, and else the newer fields in its value.
func (f *finder) scanField(d *json.Decoder, at *step, depth int) error {
	if !IsName(at.name) {
		return f.scanValue(d, at, depth)
	}
	path, generic := at.paths()
	field, is := newer[generic]
	if !is {
		return f.scanValue(d, at, depth)
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

// expect reads the token that begins an object or an array.
func expect(d *json.Decoder, begin json.Delim) error {
	token, err := d.Token()
	if err == nil && token != begin {
		err = fmt.Errorf("expected %s", begin)
	}
	return err
}

// scanFields calls visit for each field of an object whose brace was read. visit reads the value.
func scanFields(d *json.Decoder, visit func(name string) error) error {
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

// scanItems calls visit for each item of an array whose bracket was read. visit reads the item.
func scanItems(d *json.Decoder, visit func(i int) error) error {
	for i := 0; d.More(); i++ {
		if err := visit(i); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}
