package localapi

import (
	"errors"
	"fmt"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// The bounds of patches, beside those of all bodies. The libraries that apply patches have none.
const (
	// mostOperations bounds the operations of a JSON patch, as in the API server.
	mostOperations = 10_000
	// mostCopies bounds the copy and move operations of a JSON patch. Each of them can double the
	// document or its depth, so the document is measured after each.
	mostCopies = 50
	// mostMeasured bounds the bytes of all documents that are measured so.
	mostMeasured = 4 << 20
	// mostPathLevels bounds the levels of a path of a JSON patch. A pod needs under 15. The library writes
	// the document once for each level of the path that an operation has followed.
	mostPathLevels = 20
	// mostMessage bounds the text of a library's error, in bytes. Some have the whole document in it.
	mostMessage = 1000
	// mostElements bounds each list of a strategic merge patch and of the document. The library
	// compares each element with each.
	mostElements = 1000
)

// errPatch is returned for a patch that cannot be applied to the document.
var errPatch = errors.New("the patch cannot be applied")

// applyPatch returns a document after a patch of one of patchTypes. The tags of the type of like say
// which lists a strategic merge patch merges, and by which key. The caller has checked the patch with
// bounded. The error is errPatch. A panic of a library is such an error, too: the libraries panic if
// they compare values that Go cannot compare.
func applyPatch(form types.PatchType, document, patch []byte, like any) (after []byte, err error) {
	defer func() {
		if recover() != nil {
			after, err = nil, fmt.Errorf("%w: it is malformed", errPatch)
		}
	}()
	switch form {
	case types.JSONPatchType:
		after, err = applyJSONPatch(document, patch)
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(document, patch)
	default:
		after, err = applyStrategicPatch(document, patch, like)
	}
	if err == nil {
		err = checkPatched(after)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errPatch, shortened(err.Error()))
	}
	return after, nil
}

// shortened returns a text of at most mostMessage bytes, and less than a letter more.
func shortened(text string) string {
	if len(text) <= mostMessage {
		return text
	}
	return strings.ToValidUTF8(text[:mostMessage], "") + "..."
}

// applyJSONPatch applies the operations up to each copy or move at once, and measures the document then.
func applyJSONPatch(document, text []byte) ([]byte, error) {
	patch, err := jsonpatch.DecodePatch(text)
	if err == nil {
		err = checkOperations(patch)
	}
	measured := 0
	for rest := patch; err == nil && len(rest) > 0; {
		end := 1
		for end < len(rest) && !copies(rest[end-1]) {
			end++
		}
		if document, err = rest[:end].Apply(document); err == nil {
			err = checkPatched(document)
		}
		if measured += len(document); err == nil && measured > mostMeasured {
			err = errors.New("it has too many copy and move operations for a document of this size")
		}
		rest = rest[end:]
	}
	return document, err
}

// checkOperations returns an error for a JSON patch beyond a bound.
func checkOperations(patch jsonpatch.Patch) error {
	if len(patch) > mostOperations {
		return fmt.Errorf("it has more than %d operations", mostOperations)
	}
	copied := 0
	for i, o := range patch {
		path, _ := o.Path() // The library returns the error.
		from, _ := o.From()
		if max(strings.Count(path, "/"), strings.Count(from, "/")) > mostPathLevels {
			return fmt.Errorf("operation %d has a path of more than %d levels", i, mostPathLevels)
		}
		if copies(o) {
			copied++
		}
	}
	if copied > mostCopies {
		return fmt.Errorf("it has more than %d copy and move operations", mostCopies)
	}
	return nil
}

// copies reports whether an operation can make a document larger or deeper than its own text is.
func copies(o jsonpatch.Operation) bool { return o.Kind() == "copy" || o.Kind() == "move" }

// checkPatched returns an error for a document that a patch has made too large or too deep.
func checkPatched(document []byte) error {
	if len(document) > mostBody {
		return fmt.Errorf("the result has more than %d bytes", mostBody)
	}
	var m measure
	if m.json(document); m.levels > mostLevels {
		return fmt.Errorf("the result has more than %d levels", mostLevels)
	}
	return nil
}

// applyStrategicPatch returns a document after a strategic merge patch.
func applyStrategicPatch(document, patch []byte, like any) ([]byte, error) {
	var m measure
	m.json(document)
	m.json(patch)
	if m.elements > mostElements {
		return nil, fmt.Errorf("a list has more than %d elements: use a merge patch", mostElements)
	}
	return strategicpatch.StrategicMergePatch(document, patch, like)
}
