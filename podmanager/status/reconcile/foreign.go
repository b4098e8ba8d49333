package reconcile

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// copyForeign is podstatus.TakeForeign of copies.
func copyForeign(status, theirs *v1.PodStatus) {
	var only v1.PodStatus
	podstatus.TakeForeign(&only, theirs)
	podstatus.TakeForeign(status, only.DeepCopy())
}
