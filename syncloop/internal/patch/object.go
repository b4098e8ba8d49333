package patch

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
)

// object is a JSON object of a patch.
type object map[string]any

// field is a field of a status, with its JSON name.
type field struct {
	name  string
	value any
	mode  mergeMode
}

// mergeMode is how a strategic merge patch changes a field.
type mergeMode int

const (
	replaceValue     mergeMode = iota // replace the old value
	replaceList                       // replace a list that the server would merge, by a $patch directive
	setAndRemoveKeys                  // an object: set and remove its keys one by one
	setKeys                           // an object with keys of others: set keys, remove none
)

// addDifferences adds to the patch each field whose new value differs from the old one. If the old values are
// not known, it adds all fields.
func (o object) addDifferences(known bool, old, now []field) error {
	for i, f := range now {
		if known && equality.Semantic.DeepEqual(old[i].value, f.value) {
			continue
		}
		if err := o.addFieldChange(f, old[i].value); err != nil {
			return err
		}
	}
	return nil
}

// addFieldChange adds the change of one field to the patch. The mode of the field decides whether the patch
// replaces the value, replaces the list, or contains only the changed keys. An empty value becomes null, or is
// left out if the mode sets only keys.
func (o object) addFieldChange(f field, old any) error {
	switch {
	case isEmpty(f.value):
		if f.mode != setKeys {
			o[f.name] = nil
		}
	case f.mode == replaceList:
		list := []any{object{"$patch": "replace"}}
		for v, i := reflect.ValueOf(f.value), 0; i < v.Len(); i++ {
			list = append(list, v.Index(i).Interface())
		}
		o[f.name] = list
	case f.mode == setAndRemoveKeys, f.mode == setKeys:
		a, err := toJSONMap(old)
		if err != nil {
			return err
		}
		b, err := toJSONMap(f.value)
		if err != nil {
			return err
		}
		if d := changedKeys(a, b, f.mode == setAndRemoveKeys); len(d) > 0 {
			o[f.name] = d
		}
	default:
		o[f.name] = f.value
	}
	return nil
}

// changedKeys returns the keys of a JSON object that are new or differ, with nested objects reduced in the same
// way. If remove is set, it also returns null for each key of old that now does not have.
func changedKeys(old, now map[string]any, remove bool) object {
	d := object{}
	for k, v := range now {
		before, was := old[k]
		if inner, ok := v.(map[string]any); ok {
			had, _ := before.(map[string]any)
			if d2 := changedKeys(had, inner, remove); len(d2) > 0 || !was {
				d[k] = d2
			}
		} else if !was || !reflect.DeepEqual(before, v) {
			d[k] = v
		}
	}
	for k := range old {
		if _, stays := now[k]; remove && !stays {
			d[k] = nil
		}
	}
	return d
}

// toJSONMap converts a value to a map through JSON.
func toJSONMap(v any) (map[string]any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	m := map[string]any{}
	err = json.Unmarshal(raw, &m)
	return m, err
}

// isEmpty reports whether a value is zero, or a slice or map without elements.
func isEmpty(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Slice, reflect.Map:
		return r.Len() == 0
	default:
		return r.IsZero()
	}
}

// nilIfZero returns nil for a zero value. A merge patch does not remove a missing field, but it removes a null
// one.
func nilIfZero[V comparable](v V) any {
	var zero V
	if v == zero {
		return nil
	}
	return v
}
