package podspec

import v1 "k8s.io/api/core/v1"

// SystemCriticalPriority is the lowest priority of critical pods.
const SystemCriticalPriority int32 = 2_000_000_000

const (
	mirrorAnnotation      = "kubernetes.io/config.mirror" // podmanager.ConfigMirrorAnnotation
	nodeCriticalClassName = "system-node-critical"
)

// IsCritical reports whether a pod is critical: a static pod, a mirror pod, or a pod with a priority of at least
// SystemCriticalPriority.
func IsCritical(pod *v1.Pod) bool {
	_, mirror := pod.Annotations[mirrorAnnotation]
	return mirror || IsFromManifest(pod) || pod.Spec.Priority != nil && *pod.Spec.Priority >= SystemCriticalPriority
}

// IsNodeCritical reports whether a pod is critical and has the priority class system-node-critical.
func IsNodeCritical(pod *v1.Pod) bool {
	return IsCritical(pod) && pod.Spec.PriorityClassName == nodeCriticalClassName
}
