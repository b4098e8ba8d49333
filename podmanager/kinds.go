package podmanager

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Annotations that describe the origin of a pod. The first three are local to the node that set
// them, and not part of the desired state.
const (
	// ConfigSourceAnnotation names the source that the pod came from.
	ConfigSourceAnnotation = "kubernetes.io/config.source"
	// ConfigMirrorAnnotation marks a mirror pod. Its value is the ConfigHashAnnotation of the
	// static pod.
	ConfigMirrorAnnotation = "kubernetes.io/config.mirror"
	// ConfigFirstSeenAnnotation is when the pod was first seen.
	ConfigFirstSeenAnnotation = "kubernetes.io/config.seen"
	// ConfigHashAnnotation is a hash of the content of a static pod.
	ConfigHashAnnotation = "kubernetes.io/config.hash"
)

// Names of sources. A pod of any source but ApiserverSource is a static pod. Other source names may
// be chosen freely.
const (
	// FileSource is the usual name of a source that reads files.
	FileSource = "file"
	// HTTPSource is the usual name of a source that fetches from a URL.
	HTTPSource = "http"
	// ApiserverSource is the name of the API server, and of a host program that replaces it.
	ApiserverSource = "api"
)

// ResolvedPodUID is the UID of a pod that this node runs. It is never the UID of a mirror pod.
type ResolvedPodUID types.UID

// MirrorPodUID is the UID of a mirror pod.
type MirrorPodUID types.UID

// PodSource returns the name of the source that the pod came from, or an error if the pod has no
// such annotation.
func PodSource(pod *v1.Pod) (string, error) {
	if pod != nil {
		if source, ok := pod.Annotations[ConfigSourceAnnotation]; ok {
			return source, nil
		}
		return "", fmt.Errorf("podmanager: pod %s has no annotation %s", FullName(pod), ConfigSourceAnnotation)
	}
	return "", fmt.Errorf("podmanager: no pod")
}

// IsStaticPod reports whether the pod came from a source other than the API server. A pod without a
// source annotation is not static.
func IsStaticPod(pod *v1.Pod) bool {
	source, err := PodSource(pod)
	return err == nil && source != ApiserverSource
}

// IsMirrorPod reports whether the pod is a mirror pod.
func IsMirrorPod(pod *v1.Pod) bool {
	if pod == nil {
		return false
	}
	_, ok := pod.Annotations[ConfigMirrorAnnotation]
	return ok
}

// IsMirrorPodOf reports whether mirror is the mirror pod of the present version of pod: it has the
// same name and namespace, and the hash of the same content.
func IsMirrorPodOf(mirror, pod *v1.Pod) bool {
	if mirror == nil || pod == nil || mirror.Name != pod.Name || mirror.Namespace != pod.Namespace {
		return false
	}
	hash, ok := mirror.Annotations[ConfigMirrorAnnotation]
	return ok && hash == pod.Annotations[ConfigHashAnnotation]
}

// FullName returns name_namespace. Valid names have no underscore, so the full name identifies one
// pod at a time.
func FullName(pod *v1.Pod) string {
	if pod == nil {
		return ""
	}
	return pod.Name + "_" + pod.Namespace
}

// Reference returns the object of an event about a container of a pod: a reference to the pod with
// the container's field path, as kubectl expects it. If the name is empty or not in the spec, it
// returns the pod itself.
func Reference(pod *v1.Pod, container string) k8sruntime.Object {
	place := containerFieldPath(&pod.Spec, container)
	if place == "" {
		return pod
	}
	return &v1.ObjectReference{
		Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		ResourceVersion: pod.ResourceVersion, FieldPath: place,
	}
}

// containerFieldPath returns the field path of a container of any kind in a spec, such as spec.containers{web}.
// It returns an empty string if the name is empty or no container has it.
func containerFieldPath(spec *v1.PodSpec, container string) string {
	in := func(list string) string { return "spec." + list + "{" + container + "}" }
	if container == "" {
		return ""
	}
	for i := range spec.Containers {
		if spec.Containers[i].Name == container {
			return in("containers")
		}
	}
	for i := range spec.InitContainers {
		if spec.InitContainers[i].Name == container {
			return in("initContainers")
		}
	}
	for i := range spec.EphemeralContainers {
		if spec.EphemeralContainers[i].Name == container {
			return in("ephemeralContainers")
		}
	}
	return ""
}
