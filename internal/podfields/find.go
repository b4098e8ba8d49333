package podfields

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

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
	var pod map[string]json.RawMessage // A struct would take Spec for spec, too.
	if err := json.Unmarshal(body, &pod); err != nil {
		return nil, err
	}
	return findInSpec(pod["spec"])
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
	var list map[string]json.RawMessage
	var items []map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(body, &list), json.Unmarshal(list["items"], &items)); err != nil {
		return nil, err
	}
	all := map[int][]Found{}
	for i, pod := range items {
		found, err := findInSpec(pod["spec"])
		if err != nil {
			return all, err
		}
		all[i] = found
	}
	return all, nil
}

// findInSpec is Find for the text of a spec.
func findInSpec(text []byte) ([]Found, error) {
	if text == nil {
		return nil, nil
	}
	var spec any
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, err
	}
	return Find(map[string]any{"spec": spec}), nil
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

// Find lists the fields of a pod that [Newer] names, in the order of their names: at most 100.
// The pod is what encoding/json makes of a document: objects are maps, lists are slices. A
// field that is null is not set. Find may be called from anywhere.
func Find(pod any) []Found {
	var f finder
	f.findIn(pod, "", "")
	return f.found
}

type finder struct{ found []Found }

// findIn adds the newer fields in a value. generic is the path of the value without numbers.
func (f *finder) findIn(v any, path, generic string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			path, generic := join(path, name), join(generic, name)
			field, is := newer[generic]
			switch {
			case v[name] == nil || len(f.found) >= maxFound:
			case is:
				f.found = append(f.found, Found{path, field.since})
			default:
				f.findIn(v[name], path, generic)
			}
		}
	case []any:
		for i, item := range v {
			f.findIn(item, fmt.Sprintf("%s[%d]", path, i), generic+"[]")
		}
	}
}
