package reconcile

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// copyForeign is podstatus.CopyForeignFields of copies.
func copyForeign(status, theirs *v1.PodStatus) {
	var only v1.PodStatus
	podstatus.CopyForeignFields(&only, theirs)
	podstatus.CopyForeignFields(status, only.DeepCopy())
}
