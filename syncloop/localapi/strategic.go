package localapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// The directives of a strategic merge patch: keys that are no fields.
const (
	directive  = "$patch"                    // of an object: replace or delete
	retainKeys = "$retainKeys"               // the fields of an object that stay
	deleteFrom = "$deleteFromPrimitiveList/" // with a field: what its list loses
	setOrder   = "$setElementOrder/"         // with a field: the order of its list
)

// strategicPatch applies a strategic merge patch to a document of the type of like, whose
// tags say which lists are merged, and by which key. It takes time linear in the sizes. The
// package of apimachinery that does the same links OpenAPI: 3 MB of a program.
func strategicPatch(text, patch []byte, like any) ([]byte, error) {
	var before, with map[string]any
	if err := errors.Join(decodeNumbers(text, &before), decodeNumbers(patch, &with)); err != nil {
		return nil, err
	}
	after, err := mergeObject(before, with, reflect.TypeOf(like))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPatch, err)
	}
	return json.Marshal(after)
}

// decodeNumbers keeps numbers as they are written, however large.
func decodeNumbers(text []byte, into any) error {
	if !json.Valid(text) {
		return fmt.Errorf("%w: it is no JSON document", errPatch)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// mergeObject returns an object of a type after a patch. It changes both.
func mergeObject(into, patch map[string]any, t reflect.Type) (map[string]any, error) {
	if how, ok := patch[directive]; ok {
		return replaceObject(how, patch)
	}
	if err := retain(into, patch); err != nil {
		return nil, err
	}
	if into == nil {
		into = map[string]any{}
	}
	for _, name := range slices.Sorted(maps.Keys(patch)) { // Thus directives come first.
		value, ok := patch[name]
		if !ok {
			continue // The order of the list has come with it.
		}
		var err error
		if list, ok := strings.CutPrefix(name, setOrder); ok {
			err = mergeOrdered(into, patch, list, value, t)
		} else if list, ok := strings.CutPrefix(name, deleteFrom); ok {
			err = deleteElements(into, list, value)
		} else {
			err = mergeField(into, name, value, t)
		}
		if err != nil {
			return nil, fmt.Errorf("%.100s: %w", name, err)
		}
	}
	return into, nil
}

// replaceObject is what an object becomes by a directive of its own.
func replaceObject(how any, patch map[string]any) (map[string]any, error) {
	switch how {
	case "replace":
		delete(patch, directive)
		return patch, nil
	case "delete":
		return map[string]any{}, nil
	}
	return nil, fmt.Errorf("%s: expected replace or delete", directive)
}

// retain removes the fields that a patch does not name among those that stay.
func retain(into, patch map[string]any) error {
	value, ok := patch[retainKeys]
	if !ok {
		return nil
	}
	delete(patch, retainKeys)
	names, ok := value.([]any)
	if !ok {
		return fmt.Errorf("%s: %w", retainKeys, errNoList)
	}
	stays := make(map[string]bool, len(names))
	for _, name := range names {
		text, _ := name.(string)
		stays[text] = true
	}
	for name, value := range patch {
		if value != nil && !stays[name] && !strings.HasPrefix(name, deleteFrom) && !strings.HasPrefix(name, setOrder) {
			return fmt.Errorf("%s: %.100q is not among them", retainKeys, name)
		}
	}
	maps.DeleteFunc(into, func(name string, _ any) bool { return !stays[name] })
	return nil
}

// mergeField changes a field by what a patch says of it.
func mergeField(into map[string]any, name string, value any, t reflect.Type) error {
	switch with := value.(type) {
	case nil:
		delete(into, name)
		return nil
	case map[string]any:
		if was, ok := into[name].(map[string]any); ok {
			f, err := memberOf(t, name)
			if err == nil && f.strategy != "replace" {
				value, err = mergeObject(was, with, f.of)
			}
			into[name] = value
			return err
		}
	case []any:
		if was, ok := into[name].([]any); ok {
			f, err := memberOf(t, name)
			if err == nil && f.strategy == "merge" {
				value, err = f.mergeList(was, with)
			}
			into[name] = value
			return err
		}
	}
	if value = cleaned(value); value == nil {
		delete(into, name)
		return nil
	}
	into[name] = value
	return nil
}

// cleaned is a new value without the nulls and the objects with directives in it. It is nil
// if the value is such an object itself.
func cleaned(value any) any {
	switch of := value.(type) {
	case map[string]any:
		if _, ok := of[directive]; ok {
			return nil
		}
		maps.DeleteFunc(of, func(name string, child any) bool {
			of[name] = cleaned(child)
			return of[name] == nil
		})
	case []any:
		kept := []any{}
		for _, child := range of {
			if after := cleaned(child); after != nil || child == nil {
				kept = append(kept, after)
			}
		}
		return kept
	}
	return value
}

// member is how a patch changes a field.
type member struct {
	of       reflect.Type // of the object, or of an element of the list
	strategy string       // merge, replace, or none
	key      string       // what tells the elements of a merged list apart; none for scalars
}

// memberOf looks up a field of a type by its name in JSON.
func memberOf(t reflect.Type, name string) (member, error) {
	if t.Kind() != reflect.Struct {
		return member{}, fmt.Errorf("%.100q is no field", name)
	}
	for _, f := range reflect.VisibleFields(t) {
		if tagged, _, _ := strings.Cut(f.Tag.Get("json"), ","); tagged != name || name == "" {
			continue
		}
		found := member{of: f.Type, key: f.Tag.Get("patchMergeKey")}
		for found.of.Kind() == reflect.Pointer || found.of.Kind() == reflect.Slice {
			found.of = found.of.Elem()
		}
		for strategy := range strings.SplitSeq(f.Tag.Get("patchStrategy"), ",") {
			if strategy != "retainKeys" { // The patch itself names the keys.
				found.strategy = strategy
			}
		}
		return found, nil
	}
	return member{}, fmt.Errorf("%.100q is no field", name)
}
