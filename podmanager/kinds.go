package podmanager

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Annotations by which a pod tells where it came from. The first three are
// local to the node that set them, and not part of what a pod is told to be.
const (
	// ConfigSourceAnnotation names the source that the pod came from.
	ConfigSourceAnnotation = "kubernetes.io/config.source"
	// ConfigMirrorAnnotation marks a mirror pod; its value is the
	// ConfigHashAnnotation of the static pod that it stands for.
	ConfigMirrorAnnotation = "kubernetes.io/config.mirror"
	// ConfigFirstSeenAnnotation is when the pod was first seen.
	ConfigFirstSeenAnnotation = "kubernetes.io/config.seen"
	// ConfigHashAnnotation identifies the content of a static pod.
	ConfigHashAnnotation = "kubernetes.io/config.hash"
)

// Names of sources. A pod of any source but ApiserverSource is a static pod,
// so the names of others are free.
const (
	// FileSource is the usual name of a source that reads files.
	FileSource = "file"
	// HTTPSource is the usual name of a source that fetches from a URL.
	HTTPSource = "http"
	// ApiserverSource is the name of the API server, and of a host program
	// that hands over pods in its place.
	ApiserverSource = "api"
)

// ResolvedPodUID is the UID of a pod that is run here: never a mirror's.
type ResolvedPodUID types.UID

// MirrorPodUID is the UID of a mirror pod.
type MirrorPodUID types.UID

// PodSource is the name of the source that the pod came from, or an error if
// it does not say.
func PodSource(pod *v1.Pod) (string, error) {
	if pod != nil {
		if source, ok := pod.Annotations[ConfigSourceAnnotation]; ok {
			return source, nil
		}
		return "", fmt.Errorf("podmanager: pod %s has no annotation %s", FullName(pod), ConfigSourceAnnotation)
	}
	return "", fmt.Errorf("podmanager: no pod")
}

// IsStaticPod reports whether the pod came from a source other than the API
// server. A pod that does not say where it came from is not static.
func IsStaticPod(pod *v1.Pod) bool {
	source, err := PodSource(pod)
	return err == nil && source != ApiserverSource
}

// IsMirrorPod reports whether the pod only stands for a static pod.
func IsMirrorPod(pod *v1.Pod) bool {
	if pod == nil {
		return false
	}
	_, ok := pod.Annotations[ConfigMirrorAnnotation]
	return ok
}

// IsMirrorPodOf reports whether mirror shows pod as it is now: it has the same
// name and namespace, and was made from the same content.
func IsMirrorPodOf(mirror, pod *v1.Pod) bool {
	if mirror == nil || pod == nil || mirror.Name != pod.Name || mirror.Namespace != pod.Namespace {
		return false
	}
	hash, ok := mirror.Annotations[ConfigMirrorAnnotation]
	return ok && hash == pod.Annotations[ConfigHashAnnotation]
}

// FullName is the pod's name and namespace in one word, name_namespace. Valid
// names hold no underscore, so it names one pod at a time.
func FullName(pod *v1.Pod) string {
	if pod == nil {
		return ""
	}
	return pod.Name + "_" + pod.Namespace
}

// Reference is what an event about a container of a pod is about: the pod, with
// the place of the container in its spec, as people's tools expect. Of a container
// that the spec does not have, or of none, it is the pod itself.
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

// containerFieldPath is the place of a container in a spec; empty if it is not there.
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
