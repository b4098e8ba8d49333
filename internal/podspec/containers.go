package podspec

import (
	"iter"

	v1 "k8s.io/api/core/v1"
)

// IsSidecar reports whether an init container is a sidecar: it starts in the order of the init containers and keeps
// running beside the containers after it.
func IsSidecar(init *v1.Container) bool {
	return init.RestartPolicy != nil && *init.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// AllContainers iterates over the init containers of a pod and then over its regular containers.
func AllContainers(pod *v1.Pod) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		for _, list := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// LongRunningContainers iterates over the containers that run as long as the pod does: its sidecars, then its regular
// containers.
func LongRunningContainers(pod *v1.Pod) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		index := 0
		for c := range AllContainers(pod) {
			runsToCompletion := index < len(pod.Spec.InitContainers) && !IsSidecar(c)
			if index++; !runsToCompletion && !yield(c) {
				return
			}
		}
	}
}

// AllAndEphemeralContainers iterates over AllContainers and then over the ephemeral containers.
func AllAndEphemeralContainers(pod *v1.Pod) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		for c := range AllContainers(pod) {
			if !yield(c) {
				return
			}
		}
		for i := range pod.Spec.EphemeralContainers {
			if !yield((*v1.Container)(&pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)) {
				return
			}
		}
	}
}

// FindContainer returns the first container with the name, or nil.
func FindContainer(all iter.Seq[*v1.Container], name string) *v1.Container {
	for c := range all {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// InitContainer returns the init container with the name, or nil.
func InitContainer(pod *v1.Pod, name string) *v1.Container {
	return findContainerByName(pod.Spec.InitContainers, name)
}

// RegularContainer returns the regular container with the name, or nil.
func RegularContainer(pod *v1.Pod, name string) *v1.Container {
	return findContainerByName(pod.Spec.Containers, name)
}

// findContainerByName returns a pointer to the first container in the list that has the name, or nil.
func findContainerByName(list []v1.Container, name string) *v1.Container {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}
