package podmanager

import (
	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
)

// Reference is what an event about a container of a pod is about: the pod, with
// the place of the container in its spec, as people's tools expect. Of a container
// that the spec does not have, or of none, it is the pod itself.
func Reference(pod *v1.Pod, container string) k8sruntime.Object {
	place := fieldPath(&pod.Spec, container)
	if place == "" {
		return pod
	}
	return &v1.ObjectReference{
		Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		ResourceVersion: pod.ResourceVersion, FieldPath: place,
	}
}

// fieldPath is the place of a container in a spec; empty if it is not there.
func fieldPath(spec *v1.PodSpec, container string) string {
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
