package reconcile

import v1 "k8s.io/api/core/v1"

// takeForeign takes over the fields of a status that others write, as they are in
// theirs: claims of resources, and the node that a scheduler nominated. Conditions
// are Merge's. What is taken is shared.
func takeForeign(status, theirs *v1.PodStatus) {
	status.NominatedNodeName = theirs.NominatedNodeName
	status.ResourceClaimStatuses = theirs.ResourceClaimStatuses
	status.ExtendedResourceClaimStatus = theirs.ExtendedResourceClaimStatus
	status.NodeAllocatableResourceClaimStatuses = theirs.NodeAllocatableResourceClaimStatuses
}

// copyForeign is takeForeign of copies.
func copyForeign(status, theirs *v1.PodStatus) {
	var only v1.PodStatus
	takeForeign(&only, theirs)
	takeForeign(status, only.DeepCopy())
}
