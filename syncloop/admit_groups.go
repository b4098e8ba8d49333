package syncloop

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// reasonGroupsPolicy is the kubelet's reason for a pod whose supplementalGroupsPolicy the runtime does not support.
const reasonGroupsPolicy = "SupplementalGroupsPolicyNotSupported"

// AdmitSupplementalGroupsPolicy returns a handler that refuses a pod with the supplementalGroupsPolicy Strict if the
// runtime does not support it: the processes of the pod would have groups that only the image names. support returns
// runtime.Features.StrictGroups at each admission. The handler admits the pod if the support is unknown, because
// RunSandbox returns ErrUnsupported then.
func AdmitSupplementalGroupsPolicy(support func() runtime.Support) PodAdmitHandler {
	return PodAdmitAloneFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		s := attrs.Pod.Spec.SecurityContext
		if s == nil || s.SupplementalGroupsPolicy == nil || *s.SupplementalGroupsPolicy != v1.SupplementalGroupsPolicyStrict || support() != runtime.SupportNone {
			return admitted
		}
		return Refused(allocation.Reason{
			Kind: allocation.KindUnsupportedField, Reason: reasonGroupsPolicy, Field: "spec.securityContext.supplementalGroupsPolicy",
			Message: "SupplementalGroupsPolicy=Strict is not supported in this node",
		})
	})
}
