package podspec

import v1 "k8s.io/api/core/v1"

// few is how many names are compared one by one, which for so many is faster than a map.
const few = 16

// Index finds the elements of a list by name, in time that does not grow with their number.
// It is not safe for concurrent use, and the list must not change.
type Index[T any] struct {
	list   []T
	name   func(*T) string
	places map[string]int // of many, made when it is needed
}

// NewIndex is an index of a list. Of several elements with one name it finds the first.
func NewIndex[T any](list []T, name func(*T) string) Index[T] {
	return Index[T]{list: list, name: name}
}

// StatusIndex is an index of statuses.
func StatusIndex(list []v1.ContainerStatus) Index[v1.ContainerStatus] {
	return NewIndex(list, func(s *v1.ContainerStatus) string { return s.Name })
}

// Find is the element with the name, or nil. It is looked for first at the place where it
// usually is.
func (x *Index[T]) Find(name string, place int) *T {
	if place < len(x.list) && x.name(&x.list[place]) == name {
		return &x.list[place]
	}
	if len(x.list) > few {
		return x.lookUp(name)
	}
	for i := range x.list {
		if x.name(&x.list[i]) == name {
			return &x.list[i]
		}
	}
	return nil
}

func (x *Index[T]) lookUp(name string) *T {
	if x.places == nil {
		x.places = make(map[string]int, len(x.list))
		for i := len(x.list) - 1; i >= 0; i-- {
			x.places[x.name(&x.list[i])] = i
		}
	}
	if i, ok := x.places[name]; ok {
		return &x.list[i]
	}
	return nil
}
