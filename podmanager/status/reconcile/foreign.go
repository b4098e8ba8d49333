package reconcile

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// copyForeignFieldsDeep copies the fields of other writers, like podstatus.CopyForeignFields,
// without sharing them.
func copyForeignFieldsDeep(status, theirs *v1.PodStatus) {
	var only v1.PodStatus
	podstatus.CopyForeignFields(&only, theirs)
	podstatus.CopyForeignFields(status, only.DeepCopy())
}
