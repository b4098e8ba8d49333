package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
)

// HashAnnotation is the annotation of a container that carries the SpecHash it
// was created with.
const HashAnnotation = podspec.ContainerHashAnnotation

// PodHashAnnotation is the annotation of a sandbox that carries the PodHash of
// the pod it was made for.
const PodHashAnnotation = podspec.PodHashAnnotation

// SpecHash is the versioned hash of what forces a container to be restarted when
// it changes: its name and image, and nothing else.
func SpecHash(c *v1.Container) string { return podspec.ContainerHash(c) }

// PodHash is the versioned hash of what can not change during a pod's life and decides
// what its records mean: the names, commands and arguments of its containers, in
// their order, and their restart policies, by which an init container is a sidecar
// or has to end.
func PodHash(pod *v1.Pod) string { return podspec.PodHash(pod) }

// hashChanged reports whether a container was created from a spec that has
// changed since.
func hashChanged(rec *runtime.ContainerStatus, c *v1.Container) bool {
	return podspec.ContainerHashChanged(c, rec.Annotations[HashAnnotation])
}

// BelongsToOtherPod reports whether the newest sandbox of an incarnation was made for a pod
// of the same UID but of another hash or another name: one that was replaced while no agent ran.
func BelongsToOtherPod(status *runtime.PodStatus, incarnation uint64, pod *v1.Pod) bool {
	if status.Name != "" && (status.Name != pod.Name || status.Namespace != "" && status.Namespace != pod.Namespace) {
		return true
	}
	newest := newestSandbox(status, incarnation)
	return newest != nil && !podspec.MatchesPodHash(pod, newest.Annotations[PodHashAnnotation])
}
