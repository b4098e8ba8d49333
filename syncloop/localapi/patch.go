package localapi

import (
	"errors"
	"fmt"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// The bounds of patches, in addition to the bounds of all bodies. The libraries that apply patches have no bounds.
const (
	// maxOperations bounds the operations of a JSON patch, as an API server does.
	maxOperations = 10_000
	// maxCopies bounds the copy and move operations of a JSON patch. Each can double the size or the depth of the
	// document, so the document is measured after each.
	maxCopies = 50
	// maxMeasuredBytes bounds the total size of the documents measured after copy and move operations.
	maxMeasuredBytes = 4 << 20
	// maxPathLevels bounds the levels of a JSON patch path. A pod needs fewer than 15. The library encodes the document
	// again for each level of the path.
	maxPathLevels = 20
	// maxMessageBytes bounds the text of a library error. Some errors contain the whole document.
	maxMessageBytes = 1000
	// maxElements bounds the lists of a strategic merge patch and of the document. The library compares all pairs of
	// elements.
	maxElements = 1000
)

// errPatch is returned if a patch cannot be applied.
var errPatch = errors.New("the patch cannot be applied")

// applyPatch applies a JSON, merge or strategic merge patch and returns the changed document. dataStruct is a
// value of the document's Go type; its tags give the merge keys of a strategic merge patch. Every error is
// errPatch, also if the patch library panics or the result is too large.
func applyPatch(form types.PatchType, document, patch []byte, dataStruct any) (after []byte, err error) {
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
		after, err = applyStrategicPatch(document, patch, dataStruct)
	}
	if err == nil {
		err = checkResultSize(after)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errPatch, truncateMessage(err.Error()))
	}
	return after, nil
}

// truncateMessage cuts a text longer than maxMessageBytes, at a character boundary, and appends three dots.
func truncateMessage(text string) string {
	if len(text) <= maxMessageBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessageBytes], "") + "..."
}

// applyJSONPatch applies a JSON patch to a document. It returns an error if the patch has too many or too deep
// operations, if the document becomes too large, or if the sum of its sizes after each copy or move operation
// exceeds a bound.
func applyJSONPatch(document, text []byte) ([]byte, error) {
	patch, err := jsonpatch.DecodePatch(text)
	if err == nil {
		err = checkPatchLimits(patch)
	}
	measured := 0
	for rest := patch; err == nil && len(rest) > 0; {
		end := 1
		for end < len(rest) && !canGrowDocument(rest[end-1]) {
			end++
		}
		if document, err = rest[:end].Apply(document); err == nil {
			err = checkResultSize(document)
		}
		if measured += len(document); err == nil && measured > maxMeasuredBytes {
			err = errors.New("it has too many copy and move operations for a document of this size")
		}
		rest = rest[end:]
	}
	return document, err
}

// checkPatchLimits returns an error if a JSON patch has too many operations, too many copy and move
// operations, or a path with too many levels.
func checkPatchLimits(patch jsonpatch.Patch) error {
	if len(patch) > maxOperations {
		return fmt.Errorf("it has more than %d operations", maxOperations)
	}
	copied := 0
	for i, o := range patch {
		path, _ := o.Path() // Apply returns the error.
		from, _ := o.From()
		if max(strings.Count(path, "/"), strings.Count(from, "/")) > maxPathLevels {
			return fmt.Errorf("operation %d has a path of more than %d levels", i, maxPathLevels)
		}
		if canGrowDocument(o) {
			copied++
		}
	}
	if copied > maxCopies {
		return fmt.Errorf("it has more than %d copy and move operations", maxCopies)
	}
	return nil
}

// canGrowDocument reports whether an operation can make a document larger or deeper than the operation's own text.
func canGrowDocument(o jsonpatch.Operation) bool { return o.Kind() == "copy" || o.Kind() == "move" }

// checkResultSize returns an error if a patched document is too large or too deep.
func checkResultSize(document []byte) error {
	if len(document) > maxBodyBytes {
		return fmt.Errorf("the result has more than %d bytes", maxBodyBytes)
	}
	var m valueCounter
	if m.countJSON(document); m.levels > maxLevels {
		return fmt.Errorf("the result has more than %d levels", maxLevels)
	}
	return nil
}

// applyStrategicPatch applies a strategic merge patch. It returns an error if the document or the patch has a
// list of more than maxElements, because merging long lists is slow.
func applyStrategicPatch(document, patch []byte, dataStruct any) ([]byte, error) {
	var m valueCounter
	m.countJSON(document)
	m.countJSON(patch)
	if m.longestList > maxElements {
		return nil, fmt.Errorf("a list has more than %d elements: use a merge patch", maxElements)
	}
	return strategicpatch.StrategicMergePatch(document, patch, dataStruct)
}
