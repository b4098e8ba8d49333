package plan

import (
	v1 "k8s.io/api/core/v1"
)

// maxInline is the number of containers up to which a linear search by name is used. It is faster
// than a map and allocates nothing.
const maxInline = 16

// nameIndex finds the position of a container name in the spec: init, regular, ephemeral.
type nameIndex struct {
	count int
	// With up to maxInline names, bits has the nameBit of each name, so that most absent names are
	// rejected at once.
	bits uint64
	// fewNames has up to maxInline names; manyNames and places are used for more.
	fewNames  [maxInline]string
	manyNames []string
	places    map[string]int
	// hasDuplicate: a name occurs twice, because the pod was not validated.
	hasDuplicate bool
	// last is the position that indexOf returned last. The next search often asks for the name
	// after it.
	last int
}

// addSpecNames adds the names of the init, regular and ephemeral containers of the spec, in this order.
func (n *nameIndex) addSpecNames(s *v1.PodSpec) {
	if all := len(s.InitContainers) + len(s.Containers) + len(s.EphemeralContainers); all > maxInline {
		n.manyNames, n.places = make([]string, all), make(map[string]int, all)
	}
	for i := range s.InitContainers {
		n.appendNameAndNoteDuplicate(s.InitContainers[i].Name)
	}
	for i := range s.Containers {
		n.appendNameAndNoteDuplicate(s.Containers[i].Name)
	}
	for i := range s.EphemeralContainers {
		n.appendNameAndNoteDuplicate(s.EphemeralContainers[i].Name)
	}
}

// appendNameAndNoteDuplicate appends a name at the next position. It stores whether a name occurs twice.
func (n *nameIndex) appendNameAndNoteDuplicate(name string) {
	i := n.count
	n.count++
	if n.places == nil {
		its := nameBit(name)
		n.hasDuplicate = n.hasDuplicate || n.bits&its != 0 && n.searchInline(name) >= 0
		n.bits |= its
		n.fewNames[i] = name
		return
	}
	n.manyNames[i] = name
	if _, ok := n.places[name]; ok {
		n.hasDuplicate = true
		return
	}
	n.places[name] = i
}

// nameAt returns the container name at a position.
func (n *nameIndex) nameAt(i int) string {
	if n.places != nil {
		return n.manyNames[i]
	}
	return n.fewNames[i]
}

// indexOf returns the first position of a name, or -1 if the index does not have it. It is not safe for
// concurrent use, because it stores the last position.
func (n *nameIndex) indexOf(name string) int {
	if n.places != nil {
		if i, ok := n.places[name]; ok {
			return i
		}
		return -1
	}
	if !n.hasDuplicate {
		for i := n.last; i < min(n.last+2, n.count); i++ {
			if n.fewNames[i] == name {
				n.last = i
				return i
			}
		}
	}
	if n.bits&nameBit(name) == 0 {
		return -1
	}
	n.last = max(n.searchInline(name), 0)
	if n.fewNames[n.last] != name {
		return -1
	}
	return n.last
}

// searchInline returns the first position of a name by a linear search, or -1.
func (n *nameIndex) searchInline(name string) int {
	for i := range n.count {
		if n.fewNames[i] == name {
			return i
		}
	}
	return -1
}

// nameBit returns a value with one bit set, which depends on the length and three characters of a name.
// Different names may have the same bit.
func nameBit(name string) uint64 {
	if name == "" {
		return 1
	}
	last := len(name) - 1
	return 1 << ((uint(name[0]) + 7*uint(name[last/2]) + 31*uint(name[last]) + uint(last)) % 64)
}
