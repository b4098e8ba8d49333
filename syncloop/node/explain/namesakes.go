package explain

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Namesake is one of the pods that have, or had, one namespace and name.
type Namesake struct {
	UID types.UID
	// Desired: a source delivers the pod now.
	Desired bool
	// Admitted: the pod has a worker. A desired pod without one was rejected, perhaps because
	// another pod has its name, or waits for its admission.
	Admitted bool
}

// Order returns the UIDs of namesakes, each once, in the order in which a person who gives the
// name means them: first the desired pod that is admitted, then the other desired ones, then
// those that are not desired any more. Otherwise they keep their order. It sorts its argument.
func Order(namesakes []Namesake) (uids []types.UID) {
	slices.SortStableFunc(namesakes, func(a, b Namesake) int { return cmp.Compare(a.rank(), b.rank()) })
	for _, n := range namesakes {
		if !slices.Contains(uids, n.UID) {
			uids = append(uids, n.UID)
		}
	}
	return uids
}

func (n Namesake) rank() int {
	switch {
	case n.Desired && n.Admitted:
		return 0
	case n.Desired:
		return 1
	}
	return 2
}
