package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
)

// HashAnnotation is the annotation of a container that stores the SpecHash with which it was
// created.
const HashAnnotation = podspec.ContainerHashAnnotation

// PodHashAnnotation is the annotation of a sandbox that stores the PodHash of its pod.
const PodHashAnnotation = podspec.PodHashAnnotation

// SpecHash returns the versioned hash of the name and the image of a container. The node restarts a
// container when it changes.
func SpecHash(c *v1.Container) string { return podspec.ContainerHash(c) }

// PodHash returns the versioned hash of the fields that cannot change while a pod exists and that
// give records their meaning: the names, commands, arguments and restart policies of the
// containers, in order.
func PodHash(pod *v1.Pod) string { return podspec.PodHash(pod) }

// hasNameOrImageChanged reports whether the hash that is stored in the annotations of a record differs from the
// hash of the container spec. The hash covers only the name and the image. A missing hash counts as unchanged.
func hasNameOrImageChanged(rec *runtime.ContainerStatus, c *v1.Container) bool {
	return podspec.ContainerHashChanged(c, rec.Annotations[HashAnnotation])
}

// BelongsToOtherPod reports whether the newest sandbox of an incarnation was created for another
// pod with the same UID: the name or the pod hash differs. That happens if a static pod was
// replaced while no agent ran.
func BelongsToOtherPod(status *runtime.PodStatus, incarnation uint64, pod *v1.Pod) bool {
	if status.Name != "" && (status.Name != pod.Name || status.Namespace != "" && status.Namespace != pod.Namespace) {
		return true
	}
	newest := newestSandbox(status, incarnation)
	return newest != nil && !podspec.MatchesPodHash(pod, newest.Annotations[PodHashAnnotation])
}
