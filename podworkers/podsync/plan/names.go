package plan

import (
	v1 "k8s.io/api/core/v1"
)

// few is how many containers are looked up by comparing names one by one, which
// for so many is faster than a map. A pod with no more than that takes no memory.
const few = 16

// names are those of the containers of a pod, by their place in the spec: init,
// regular, ephemeral.
type names struct {
	count int
	// With few, seen has a bit for each, which most others do not have.
	seen uint64
	// With few they are in the first, else in the others.
	fewNames  [few]string
	manyNames []string
	places    map[string]int
	// doubled says that a name is there twice. Nobody has seen to it that none is.
	doubled bool
	// last is what was found last: what is asked for next is often beside it.
	last int
}

// read makes a place for each container in the spec.
func (n *names) read(s *v1.PodSpec) {
	if all := len(s.InitContainers) + len(s.Containers) + len(s.EphemeralContainers); all > few {
		n.manyNames, n.places = make([]string, all), make(map[string]int, all)
	}
	for i := range s.InitContainers {
		n.add(s.InitContainers[i].Name)
	}
	for i := range s.Containers {
		n.add(s.Containers[i].Name)
	}
	for i := range s.EphemeralContainers {
		n.add(s.EphemeralContainers[i].Name)
	}
}

func (n *names) add(name string) {
	i := n.count
	n.count++
	if n.places == nil {
		its := bit(name)
		n.doubled = n.doubled || n.seen&its != 0 && n.first(name) >= 0
		n.seen |= its
		n.fewNames[i] = name
		return
	}
	n.manyNames[i] = name
	if _, ok := n.places[name]; ok {
		n.doubled = true
		return
	}
	n.places[name] = i
}

// name is the name at a place.
func (n *names) name(i int) string {
	if n.places != nil {
		return n.manyNames[i]
	}
	return n.fewNames[i]
}

// find is the first place of a name; -1: it has none.
func (n *names) find(name string) int {
	if n.places != nil {
		if i, ok := n.places[name]; ok {
			return i
		}
		return -1
	}
	if !n.doubled {
		for i := n.last; i < min(n.last+2, n.count); i++ {
			if n.fewNames[i] == name {
				n.last = i
				return i
			}
		}
	}
	if n.seen&bit(name) == 0 {
		return -1
	}
	n.last = max(n.first(name), 0)
	if n.fewNames[n.last] != name {
		return -1
	}
	return n.last
}

// first looks at the few names one by one.
func (n *names) first(name string) int {
	for i := range n.count {
		if n.fewNames[i] == name {
			return i
		}
	}
	return -1
}

// bit is one of 64 by what names of one pod differ in.
func bit(name string) uint64 {
	if name == "" {
		return 1
	}
	last := len(name) - 1
	return 1 << ((uint(name[0]) + 7*uint(name[last/2]) + 31*uint(name[last]) + uint(last)) % 64)
}
