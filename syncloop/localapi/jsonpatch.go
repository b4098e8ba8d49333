package localapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

const (
	// mostOperations bounds a JSON patch, as in the API server.
	mostOperations = 10_000
	// mostCopied bounds what the copies of a JSON patch add, in bytes.
	mostCopied = mostBody
)

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	From  string          `json:"from"`
	Value json.RawMessage `json:"value"` // nil if there is none; null is one
}

// errPatch is a patch that does not fit the object.
var errPatch = errors.New("the patch cannot be applied")

// jsonPatch applies a JSON patch to a document.
func jsonPatch(text, patch []byte) ([]byte, error) {
	var operations []operation
	var root any
	if err := errors.Join(json.Unmarshal(patch, &operations), decodeNumbers(text, &root)); err != nil {
		return nil, err
	}
	if len(operations) > mostOperations {
		return nil, fmt.Errorf("%w: it has more than %d operations", errPatch, mostOperations)
	}
	copied := 0
	for i, o := range operations {
		var err error
		if root, err = o.apply(root, &copied); err != nil {
			return nil, fmt.Errorf("%w: operation %d, %.20s %.100q: %w", errPatch, i, o.Op, o.Path, err)
		}
	}
	return json.Marshal(root)
}

// apply returns the document after the operation. copied counts what copies have added.
func (o *operation) apply(root any, copied *int) (any, error) {
	if max(strings.Count(o.Path, "/"), strings.Count(o.From, "/")) > mostLevels {
		return nil, errNoPath
	}
	value, err := o.value(root, copied)
	if err != nil {
		return nil, err
	}
	switch o.Op {
	case "test":
		found, err := lookUp(root, o.Path)
		if err == nil && !reflect.DeepEqual(found, value) {
			err = errors.New("the value differs")
		}
		return root, err
	case "move":
		if root, err = edit(root, pointer(o.From), remove, nil); err != nil {
			return nil, err
		}
		return edit(root, pointer(o.Path), add, value)
	case "add", "copy":
		return edit(root, pointer(o.Path), add, value)
	case "remove":
		return edit(root, pointer(o.Path), remove, nil)
	case "replace":
		return edit(root, pointer(o.Path), replace, value)
	}
	return nil, errors.New("expected add, remove, replace, move, copy or test")
}

// value is what the operation is about: its own, or a copy of what is at its From.
func (o *operation) value(root any, copied *int) (value any, err error) {
	switch o.Op {
	case "add", "replace", "test":
		if o.Value == nil {
			return nil, errors.New("it has no value")
		}
		err = decodeNumbers(o.Value, &value)
	case "move", "copy":
		if value, err = lookUp(root, o.From); err != nil {
			return nil, err
		}
		text, _ := json.Marshal(value) // It came from JSON.
		if *copied += len(text); *copied > mostCopied {
			return nil, fmt.Errorf("it copies more than %d bytes", mostCopied)
		}
		value = nil
		err = decodeNumbers(text, &value)
	}
	return value, err
}

// pointer is the parts of a JSON pointer (RFC 6901).
func pointer(path string) []string {
	if path == "" {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[i])
	}
	return parts
}

var errNoPath = errors.New("there is no such path")

func lookUp(root any, path string) (any, error) {
	for _, part := range pointer(path) {
		switch of := root.(type) {
		case map[string]any:
			child, ok := of[part]
			if !ok {
				return nil, errNoPath
			}
			root = child
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(of) {
				return nil, errNoPath
			}
			root = of[i]
		default:
			return nil, errNoPath
		}
	}
	return root, nil
}

// edition is what is done at a path.
type edition int

const (
	add edition = iota
	remove
	replace
)

// edit returns root with the value at a path added, removed or replaced.
func edit(root any, path []string, how edition, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	switch of := root.(type) {
	case map[string]any:
		return editMap(of, path, how, value)
	case []any:
		return editList(of, path, how, value)
	}
	return nil, errNoPath
}

func editMap(of map[string]any, path []string, how edition, value any) (any, error) {
	child, there := of[path[0]]
	if !there && (len(path) > 1 || how != add) {
		return nil, errNoPath
	}
	if len(path) == 1 && how == remove {
		delete(of, path[0])
		return of, nil
	}
	child, err := edit(child, path[1:], how, value)
	of[path[0]] = child
	return of, err
}

func editList(of []any, path []string, how edition, value any) (any, error) {
	i, err := strconv.Atoi(path[0])
	if path[0] == "-" && how == add && len(path) == 1 {
		i, err = len(of), nil
	}
	last := len(of) - 1
	if how == add && len(path) == 1 {
		last++
	}
	switch {
	case err != nil || i < 0 || i > last:
		return nil, errNoPath
	case len(path) > 1 || how == replace:
		of[i], err = edit(of[i], path[1:], how, value)
		return of, err
	case how == remove:
		return slices.Delete(of, i, i+1), nil
	}
	return slices.Insert(of, i, value), nil
}

// mergePatch applies a JSON merge patch (RFC 7386) to a document.
func mergePatch(text, patch []byte) ([]byte, error) {
	var before, with any
	if err := errors.Join(decodeNumbers(text, &before), decodeNumbers(patch, &with)); err != nil {
		return nil, err
	}
	return json.Marshal(merged(before, with))
}

func merged(before, patch any) any {
	with, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	into, ok := before.(map[string]any)
	if !ok {
		into = map[string]any{}
	}
	for key, value := range with {
		if value == nil {
			delete(into, key)
			continue
		}
		into[key] = merged(into[key], value)
	}
	return into
}
