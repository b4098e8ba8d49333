package podstatus

import v1 "k8s.io/api/core/v1"

// CopyForeignFields copies the fields that other writers own from theirs to status: resource
// claims, and the node that a scheduler nominated. The copies are shared. It does not copy
// conditions; IsNodeCondition reports which conditions the node owns.
func CopyForeignFields(status, theirs *v1.PodStatus) {
	status.NominatedNodeName = theirs.NominatedNodeName
	status.ResourceClaimStatuses = theirs.ResourceClaimStatuses
	status.ExtendedResourceClaimStatus = theirs.ExtendedResourceClaimStatus
	status.NodeAllocatableResourceClaimStatuses = theirs.NodeAllocatableResourceClaimStatuses
}
