package podspec

import v1 "k8s.io/api/core/v1"

// maxLinearSearch is the longest list that Find searches without a map. For so few names the search is faster than a
// map.
const maxLinearSearch = 16

// Index finds the elements of a list by name, in time that does not grow with the length of the list. It is not safe
// for concurrent use, and the list must not change.
type Index[T any] struct {
	list      []T
	name      func(*T) string
	positions map[string]int // by name; nil until a search needs it
}

// NewIndex returns an index of a list. If several elements have one name, Find returns the first.
func NewIndex[T any](list []T, name func(*T) string) Index[T] {
	return Index[T]{list: list, name: name}
}

// StatusIndex returns an index of container statuses by container name.
func StatusIndex(list []v1.ContainerStatus) Index[v1.ContainerStatus] {
	return NewIndex(list, func(s *v1.ContainerStatus) string { return s.Name })
}

// Find returns the element with the name, or nil. It first compares the element at position hint, where the element
// usually is.
func (x *Index[T]) Find(name string, hint int) *T {
	if hint < len(x.list) && x.name(&x.list[hint]) == name {
		return &x.list[hint]
	}
	if len(x.list) > maxLinearSearch {
		return x.findInMap(name)
	}
	for i := range x.list {
		if x.name(&x.list[i]) == name {
			return &x.list[i]
		}
	}
	return nil
}

// findInMap returns the first element with the name, or nil. The first call builds a map from names to
// positions, because a search in a long list is slow.
func (x *Index[T]) findInMap(name string) *T {
	if x.positions == nil {
		x.positions = make(map[string]int, len(x.list))
		for i := len(x.list) - 1; i >= 0; i-- {
			x.positions[x.name(&x.list[i])] = i
		}
	}
	if i, ok := x.positions[name]; ok {
		return &x.list[i]
	}
	return nil
}
