package admission

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Item is what one pod takes of its node.
type Item struct {
	podspec.Claim
	// Pod is what takes it: it is handed on, and not read. Nil is none.
	Pod             *v1.Pod
	UID             types.UID
	Namespace, Name string
	// Priority is that of the pod's spec; 0 if it has none.
	Priority int32
	// Static: the pod is a static one.
	Static bool
	// Source is the name of the source that the pod came from; it may be empty.
	Source string
	// RuntimeOnly: only the runtime knows the pod. No worker has its spec.
	RuntimeOnly bool
}

// ItemOf is what a pod takes by its spec. Where it comes from is the caller's to add.
func ItemOf(pod *v1.Pod) Item {
	return Item{Pod: pod, UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, Claim: podspec.ClaimOf(pod), Priority: Priority(pod)}
}

// Priority is that of the pod's spec; 0 if it has none.
func Priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
