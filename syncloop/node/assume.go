package node

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
)

// A scheduler that calls Fits right after Apply must see the applied pod, although the loop has not handled it
// yet. So Apply passes the pod to the handlers before it passes the pod to the source.

// assumePods makes Fits and Allocated count each pod at once, before the source delivers it. It skips pods that
// the manager of desired pods already has, and returns the UIDs of the pods that are newly counted. The pods
// must come from prepareValidOrKnownPodUnlessStopped.
func (h *hostPods) assumePods(pods ...*v1.Pod) (added []types.UID) {
	for _, pod := range pods {
		if pod == nil || pod.UID == "" {
			continue // The source rejects it.
		}
		if _, known := h.manager.GetPodByUID(pod.UID); known {
			continue // The pod was admitted or rejected before.
		}
		if h.handlers.Assume(withHostSource(pod)) {
			added = append(added, pod.UID)
		}
	}
	return added
}

// withHostSource returns a copy of the pod with the source annotation that the source of Apply adds, and with
// the namespace "default" if it has none. The copy shares its other fields with the pod.
func withHostSource(pod *v1.Pod) *v1.Pod {
	annotated := *pod // The shared fields are only read.
	annotated.Namespace = cmp.Or(pod.Namespace, v1.NamespaceDefault)
	if len(pod.Annotations) == 0 {
		annotated.Annotations = hostSourceAnnotations
		return &annotated
	}
	annotated.Annotations = maps.Clone(pod.Annotations)
	annotated.Annotations[podmanager.ConfigSourceAnnotation] = hostSource
	return &annotated
}

// hostSourceAnnotations are the annotations of a pod that was applied without annotations. They are
// only read.
var hostSourceAnnotations = map[string]string{podmanager.ConfigSourceAnnotation: hostSource}

// unassumeAllExcept makes Fits and Allocated no longer count the assumed pods that are not in pods. An assumed
// pod is one that counts before its source has delivered it.
func (h *hostPods) unassumeAllExcept(pods []*v1.Pod) {
	gone := h.handlers.Assumed()
	if len(gone) == 0 {
		return
	}
	stay := make(map[types.UID]bool, len(pods))
	for _, pod := range pods {
		stay[pod.UID] = true
	}
	h.handlers.Unassume(slices.DeleteFunc(gone, func(uid types.UID) bool { return stay[uid] })...)
}
