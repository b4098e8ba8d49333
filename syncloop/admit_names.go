package syncloop

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
)

// AdmitNames refuses a static pod that has the full name of an active pod that
// is not static, and the other way round (F19). The first to arrive runs. Two
// static pods of one name take turns, which is the workers' business, and of
// two others the source delivers only one.
func AdmitNames() PodAdmitHandler {
	return PodAdmitFunc(func(attrs PodAdmitAttributes) PodAdmitResult {
		for _, other := range attrs.OtherPods {
			if other.Name == attrs.Pod.Name && other.Namespace == attrs.Pod.Namespace &&
				podmanager.IsStaticPod(other) != podmanager.IsStaticPod(attrs.Pod) {
				return PodAdmitResult{
					Reason:  "NameConflict",
					Message: fmt.Sprintf("the name %s/%s is taken by a pod of %s", other.Namespace, other.Name, origin(other)),
				}
			}
		}
		return admitted
	})
}

func origin(pod *v1.Pod) string {
	source, err := podmanager.PodSource(pod)
	if err != nil {
		return "unknown source"
	}
	return fmt.Sprintf("source %q", source)
}
