package convert

import (
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Event is what a message of the stream is about. The pod is that of the sandbox, or
// of any container in it, and empty if neither is told. It is mine unless another
// owner is told.
func Event(e *cri.ContainerEventResponse, owner string) (event runtime.Event, mine bool) {
	event = runtime.Event{ContainerID: e.GetContainerId(), At: when(e.GetCreatedAt())}
	s := e.GetPodSandboxStatus()
	if s.GetId() == event.ContainerID {
		event.ContainerID = "" // Sandboxes go by the name of containers here.
	}
	if s != nil {
		event.UID = types.UID(s.GetMetadata().GetUid())
		return event, s.GetLabels()[LabelOwner] == owner
	}
	for _, c := range e.GetContainersStatuses() {
		if l := c.GetLabels(); l[LabelPodUID] != "" {
			event.UID = types.UID(l[LabelPodUID])
			return event, l[LabelOwner] == owner
		}
	}
	return event, true
}
