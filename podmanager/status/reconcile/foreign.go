package reconcile

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// copyFieldsOfOtherWriters replaces the fields of status that the node does not write by deep copies of the
// ones in theirs.
func copyFieldsOfOtherWriters(status, theirs *v1.PodStatus) {
	var only v1.PodStatus
	podstatus.CopyForeignFields(&only, theirs)
	podstatus.CopyForeignFields(status, only.DeepCopy())
}
