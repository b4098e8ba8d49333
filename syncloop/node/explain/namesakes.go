package explain

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Namesake is one of several pods that have, or had, the same namespace and name.
type Namesake struct {
	UID types.UID
	// Desired reports that a source delivers the pod now.
	Desired bool
	// Admitted reports that the pod has a worker. A desired pod without a worker was rejected, perhaps because
	// another pod has its name, or it waits for its admission.
	Admitted bool
}

// Order returns the UIDs of namesakes, each once, in the order in which a person who gives the name
// most likely means them: first the desired pod that is admitted, then the other desired pods, then the
// undesired pods. Within these groups the order stays. Order sorts its argument.
func Order(namesakes []Namesake) (uids []types.UID) {
	slices.SortStableFunc(namesakes, func(a, b Namesake) int { return cmp.Compare(a.sortRank(), b.sortRank()) })
	for _, n := range namesakes {
		if !slices.Contains(uids, n.UID) {
			uids = append(uids, n.UID)
		}
	}
	return uids
}

// sortRank returns the sort rank of a pod in Order: 0 if it is desired and admitted, 1 if it is only desired, 2
// if it is not desired.
func (n Namesake) sortRank() int {
	switch {
	case n.Desired && n.Admitted:
		return 0
	case n.Desired:
		return 1
	}
	return 2
}
