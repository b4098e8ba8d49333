package localapi

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

var (
	errNoList  = errors.New("expected a list")
	errOrder   = errors.New("the list of the patch has another order than its " + setOrder)
	errElement = errors.New("expected objects with the merge key, or scalars where there is none")
)

// id is what tells an element of a merged list from the others.
func (f *member) id(element any) (any, error) {
	if f.key != "" {
		object, ok := element.(map[string]any)
		if element = object[f.key]; !ok || element == nil {
			return nil, fmt.Errorf("%w: %s", errElement, f.key)
		}
	}
	switch element.(type) {
	case map[string]any, []any: // They cannot be compared.
		return nil, errElement
	}
	return element, nil
}

// places maps the ids of a list to where they are first.
func (f *member) places(list []any) (map[any]int, error) {
	at := make(map[any]int, len(list))
	for i, element := range list {
		id, err := f.id(element)
		if err != nil {
			return nil, err
		}
		if _, twice := at[id]; !twice {
			at[id] = i
		}
	}
	return at, nil
}

// mergeList merges a list of a patch into another.
func (f *member) mergeList(was, patch []any) ([]any, error) {
	left, rest, err := f.direct(was, patch)
	if err != nil {
		return nil, err
	}
	merged, err := f.joined(left, rest)
	if err != nil {
		return nil, err
	}
	return f.ordered(merged, left, rest)
}

// joined is a list with the elements of another merged into it, or behind them.
func (f *member) joined(was, patch []any) ([]any, error) {
	at, err := f.places(was)
	if err != nil {
		return nil, err
	}
	merged := slices.Clone(was)
	for _, element := range patch {
		id, err := f.id(element)
		if err != nil {
			return nil, err
		}
		i, known := at[id]
		if !known {
			at[id] = len(merged)
			merged = append(merged, element)
		} else if with, ok := element.(map[string]any); ok {
			if merged[i], err = mergeObject(merged[i].(map[string]any), with, f.of); err != nil {
				return nil, fmt.Errorf("%.100v: %w", id, err)
			}
		}
	}
	return merged, nil
}

// direct performs the directives among the elements of a patch: delete removes the elements
// with its key, replace all others. It returns the rest of both lists.
func (f *member) direct(was, patch []any) (left, rest []any, err error) {
	gone, replaced := map[any]bool{}, false
	for _, element := range patch {
		object, _ := element.(map[string]any)
		how, ok := object[directive]
		switch {
		case !ok:
			rest = append(rest, element)
		case how == "replace":
			replaced = true
		case how == "delete":
			id, err := f.id(element)
			if err != nil {
				return nil, nil, err
			}
			gone[id] = true
		default:
			return nil, nil, fmt.Errorf("%s: expected replace or delete", directive)
		}
	}
	if replaced {
		return rest, nil, nil
	}
	for _, element := range was {
		id, err := f.id(element)
		if err != nil {
			return nil, nil, err
		}
		if !gone[id] {
			left = append(left, element)
		}
	}
	return left, rest, nil
}

// ordered puts those elements of a list that order names in its order. The others keep their
// places relative to where the elements were before.
func (f *member) ordered(list, before, order []any) ([]any, error) {
	rank, err := f.places(order)
	if err != nil {
		return nil, err
	}
	old, err := f.places(before)
	if err != nil {
		return nil, err
	}
	place := func(in map[any]int, element any) (int, bool) {
		id, _ := f.id(element) // All have one.
		i, ok := in[id]
		return i, ok
	}
	var named, others []any
	for _, element := range list {
		if _, ok := place(rank, element); ok {
			named = append(named, element)
		} else {
			others = append(others, element)
		}
	}
	slices.SortStableFunc(named, func(a, b any) int {
		i, _ := place(rank, a)
		j, _ := place(rank, b)
		return i - j
	})
	all := make([]any, 0, len(list))
	for len(named) > 0 && len(others) > 0 {
		i, known := place(old, others[0])
		j, knew := place(old, named[0])
		next := &named
		if known && knew && i < j {
			next = &others
		}
		all, *next = append(all, (*next)[0]), (*next)[1:]
	}
	return append(append(all, named...), others...), nil
}

// mergeOrdered changes a list by the order that a patch wants, and by the elements that the
// patch has for it. Those are taken out of the patch.
func mergeOrdered(into, patch map[string]any, name string, value any, t reflect.Type) error {
	f, err := memberOf(t, name)
	if err != nil {
		return err
	}
	before, isOld := into[name].([]any)
	with, isNew := patch[name].([]any)
	order, ok := value.([]any)
	switch {
	case !ok, !isOld && into[name] != nil, !isNew && patch[name] != nil:
		return errNoList
	case f.strategy != "merge":
		return errors.New("it is no list that is merged")
	case !isOld && !isNew:
		return nil
	}
	if err := f.follows(with, order); err != nil {
		return err
	}
	list := before
	if isNew {
		delete(patch, name)
		left, rest, err := f.direct(before, with)
		if err != nil {
			return err
		}
		joined, err := f.joined(left, rest)
		if err != nil {
			return err
		}
		if list, err = f.ordered(joined, left, rest); err != nil {
			return err
		}
		// As in the API server, what took the place of a deleted element counts as old.
		before = joined[:min(len(before), len(joined))]
	}
	into[name], err = f.ordered(list, before, order)
	return err
}

// follows is an error unless the elements of a patch come in the order that the patch wants.
func (f *member) follows(patch, order []any) error {
	if len(order) == 0 {
		return nil
	}
	at := 0
	for _, element := range patch {
		if object, ok := element.(map[string]any); ok && object[directive] != nil {
			continue
		}
		id, err := f.id(element)
		if err != nil {
			return err
		}
		for ; ; at++ {
			if at == len(order) {
				return errOrder
			}
			if other, err := f.id(order[at]); err != nil {
				return err
			} else if other == id {
				break
			}
		}
	}
	return nil
}

// deleteElements removes scalars from a list, if there is such a list.
func deleteElements(into map[string]any, name string, value any) error {
	gone, ok := value.([]any)
	if !ok {
		return errNoList
	}
	list, ok := into[name].([]any)
	if !ok {
		return nil
	}
	scalars := member{}
	ids, err := scalars.places(gone)
	if err != nil {
		return err
	}
	left := []any{}
	for _, element := range list {
		id, err := scalars.id(element)
		if err != nil {
			return err
		}
		if _, ok := ids[id]; !ok {
			left = append(left, element)
		}
	}
	into[name] = left
	return nil
}
