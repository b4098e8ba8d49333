package patch

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
)

// object is a JSON object of a patch.
type object map[string]any

// field is a field of a status, by its name in JSON.
type field struct {
	name  string
	value any
	mode  mergeMode
}

// mode says how a strategic merge patch changes a field.
type mergeMode int

const (
	replaceValue     mergeMode = iota // the new value takes the place of the old one
	replaceList                       // a list that the server would merge: replaced by a directive
	setAndRemoveKeys                  // an object: keys are set and removed one by one
	setKeys                           // an object to which others add keys: none is removed
)

// addDifferences puts in the fields that differ; all of them if the old ones are not known.
func (o object) addDifferences(known bool, old, now []field) error {
	for i, f := range now {
		if known && equality.Semantic.DeepEqual(old[i].value, f.value) {
			continue
		}
		if err := o.setField(f, old[i].value); err != nil {
			return err
		}
	}
	return nil
}

func (o object) setField(f field, old any) error {
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

// changedKeys are the keys that are new or differ and, if they may be removed, those that are gone.
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

// toJSONMap is a value as JSON has it.
func toJSONMap(v any) (map[string]any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	m := map[string]any{}
	err = json.Unmarshal(raw, &m)
	return m, err
}

// isEmpty reports whether a field is left out of JSON.
func isEmpty(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Slice, reflect.Map:
		return r.Len() == 0
	default:
		return r.IsZero()
	}
}

// nilIfZero is null for a zero value: a merge leaves what is not mentioned.
func nilIfZero[V comparable](v V) any {
	var zero V
	if v == zero {
		return nil
	}
	return v
}
