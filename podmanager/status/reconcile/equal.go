package reconcile

import (
	"bytes"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// Equal reports whether two complete statuses are equal, so that nothing has to be sent. It
// compares the conditions of the node by status, reason, message and generation, in any order. It
// ignores the conditions and fields of other writers. It compares everything else in depth.
func Equal(a, b *v1.PodStatus) bool {
	if !areNodeConditionsIn(a, b) || !areNodeConditionsIn(b, a) {
		return false
	}
	ours := *a
	ours.Conditions = b.Conditions
	podstatus.CopyForeignFields(&ours, b)
	return hasSameBytes(&ours, b) || equality.Semantic.DeepEqual(&ours, b)
}

// hasSameBytes reports whether two statuses have the same protobuf encoding. It is much faster than a
// comparison by reflection. Statuses with different bytes may still be equal, because one quantity has several
// spellings.
func hasSameBytes(a, b *v1.PodStatus) bool {
	x, err := a.Marshal()
	if err != nil {
		return false
	}
	y, err := b.Marshal()
	return err == nil && bytes.Equal(x, y)
}

// areNodeConditionsIn reports whether target has every condition of from that the node writes, with the same
// status, reason, message and generation. Transition times do not count.
func areNodeConditionsIn(from, target *v1.PodStatus) bool {
	for i := range from.Conditions {
		ours := &from.Conditions[i]
		if !podstatus.IsNodeCondition(ours.Type) {
			continue
		}
		other := podstatus.FindCondition(target.Conditions, ours.Type)
		if other == nil || other.Status != ours.Status || other.Reason != ours.Reason ||
			other.Message != ours.Message || other.ObservedGeneration != ours.ObservedGeneration {
			return false
		}
	}
	return true
}
