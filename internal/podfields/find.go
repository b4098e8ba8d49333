package podfields

import (
	"fmt"
	"maps"
	"slices"
)

// Annotation, on a pod of an API server, names the fields of its spec that this program's decoder has
// dropped, separated by commas. The server does not have it.
const Annotation = "podkeel.dev/newer-fields"

// maxFound bounds the fields that Find and FindWire list.
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
