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

// All are the init containers of a pod and then its regular ones.
func All(pod *v1.Pod) iter.Seq[*v1.Container] {
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

// Lasting are the containers that are there as long as the pod is: its sidecars
// and then its regular ones.
func Lasting(pod *v1.Pod) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		place := 0
		for c := range All(pod) {
			ordinary := place < len(pod.Spec.InitContainers) && !IsSidecar(c)
			if place++; !ordinary && !yield(c) {
				return
			}
		}
	}
}

// WithEphemeral are All and then the ephemeral containers.
func WithEphemeral(pod *v1.Pod) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		for c := range All(pod) {
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

// Named is the first of them with the name, or nil.
func Named(all iter.Seq[*v1.Container], name string) *v1.Container {
	for c := range all {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Init is the init container with the name, or nil.
func Init(pod *v1.Pod, name string) *v1.Container { return in(pod.Spec.InitContainers, name) }

// Regular is the regular container with the name, or nil.
func Regular(pod *v1.Pod, name string) *v1.Container { return in(pod.Spec.Containers, name) }

func in(list []v1.Container, name string) *v1.Container {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}
