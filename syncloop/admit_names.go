package syncloop

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/syncloop/internal/admission"
)

// AdmitNames refuses a static pod that has the full name of an active pod that
// is not static, and the other way round. The first to arrive runs; a static pod waits for
// the name instead of being refused. Two
// static pods of one name take turns, which is the workers' business, and of
// two others the source delivers only one.
func AdmitNames() PodAdmitHandler {
	return bySums(func(attrs PodAdmitAttributes, others sums) PodAdmitResult {
		static := podmanager.IsStaticPod(attrs.Pod)
		for _, other := range others.named(attrs.Pod.Namespace, attrs.Pod.Name) {
			if other.Static != static {
				return Refused(Reason{
					Kind: KindPodName, Reason: reasonName, Holder: types.NamespacedName{Namespace: other.Namespace, Name: other.Name},
					Message: fmt.Sprintf("the name %s/%s is taken by a pod of %s", other.Namespace, other.Name, sourceOf(other)),
				})
			}
		}
		return admitted
	})
}

// reasonName is that of a refusal because of a full name.
const reasonName = "NameConflict"

func sourceOf(item admission.Item) string {
	if item.Source == "" {
		return "unknown source"
	}
	return fmt.Sprintf("source %q", item.Source)
}
