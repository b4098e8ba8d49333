package podspec

import (
	"iter"

	v1 "k8s.io/api/core/v1"
)

// IsSidecar reports whether an init container is restartable: it is started in
// its turn, and goes on beside those after it.
func IsSidecar(init *v1.Container) bool {
	return init.RestartPolicy != nil && *init.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// AllContainers are the init containers of a pod and then its regular ones.
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

// LongRunningContainers are the containers that are there as long as the pod is: its sidecars
// and then its regular ones.
func LongRunningContainers(pod *v1.Pod) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		place := 0
		for c := range AllContainers(pod) {
			ordinary := place < len(pod.Spec.InitContainers) && !IsSidecar(c)
			if place++; !ordinary && !yield(c) {
				return
			}
		}
	}
}

// AllAndEphemeralContainers are All and then the ephemeral containers.
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

// FindContainer is the first of them with the name, or nil.
func FindContainer(all iter.Seq[*v1.Container], name string) *v1.Container {
	for c := range all {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// InitContainer is the init container with the name, or nil.
func InitContainer(pod *v1.Pod, name string) *v1.Container { return in(pod.Spec.InitContainers, name) }

// RegularContainer is the regular container with the name, or nil.
func RegularContainer(pod *v1.Pod, name string) *v1.Container { return in(pod.Spec.Containers, name) }

func in(list []v1.Container, name string) *v1.Container {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}
