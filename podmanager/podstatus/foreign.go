package podstatus

import v1 "k8s.io/api/core/v1"

// CopyForeignFields gives a status the fields that others than the node write, as they are in
// theirs: claims of resources, and the node that a scheduler nominated. What is taken is
// shared. Conditions are not among it: IsNodeCondition tells whose they are.
func CopyForeignFields(status, theirs *v1.PodStatus) {
	status.NominatedNodeName = theirs.NominatedNodeName
	status.ResourceClaimStatuses = theirs.ResourceClaimStatuses
	status.ExtendedResourceClaimStatus = theirs.ExtendedResourceClaimStatus
	status.NodeAllocatableResourceClaimStatuses = theirs.NodeAllocatableResourceClaimStatuses
}
