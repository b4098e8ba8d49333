package node

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
)

// A scheduler that asks Fits right after Apply must find what it has just placed, though
// the loop has not seen it yet. So Apply tells the handlers before it tells the source.

// assumePods has Fits and Allocated count pods that are about to be handed to the source, and
// returns the UIDs of those that are new. The pods are prepared.
func (h *hostPods) assumePods(pods ...*v1.Pod) (added []types.UID) {
	for _, pod := range pods {
		if pod == nil || pod.UID == "" {
			continue // The source does not take it.
		}
		if _, known := h.manager.GetPodByUID(pod.UID); known {
			continue // It is decided on.
		}
		if h.handlers.Assume(withHostSource(pod)) {
			added = append(added, pod.UID)
		}
	}
	return added
}

// withHostSource is the pod with the annotation that its source gives it.
func withHostSource(pod *v1.Pod) *v1.Pod {
	annotated := *pod // What is shared is only read.
	annotated.Namespace = cmp.Or(pod.Namespace, v1.NamespaceDefault)
	if len(pod.Annotations) == 0 {
		annotated.Annotations = hostSourceAnnotations
		return &annotated
	}
	annotated.Annotations = maps.Clone(pod.Annotations)
	annotated.Annotations[podmanager.ConfigSourceAnnotation] = hostSource
	return &annotated
}

// hostSourceAnnotations are the annotations of a pod that came without any. They are only read.
var hostSourceAnnotations = map[string]string{podmanager.ConfigSourceAnnotation: hostSource}

// unassumeOthers forgets all assumed pods but these.
func (h *hostPods) unassumeOthers(pods []*v1.Pod) {
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
