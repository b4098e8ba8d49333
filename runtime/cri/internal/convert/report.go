package convert

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// RuntimeStatus reads the two conditions that there must be. One that is not
// said is not met.
func RuntimeStatus(s *cri.RuntimeStatus) runtime.RuntimeStatus {
	out := runtime.RuntimeStatus{RuntimeMessage: unsaid, NetworkMessage: unsaid}
	for _, c := range s.GetConditions() {
		switch c.GetType() {
		case cri.RuntimeReady:
			out.RuntimeReady, out.RuntimeMessage = c.GetStatus(), why(c)
		case cri.NetworkReady:
			out.NetworkReady, out.NetworkMessage = c.GetStatus(), why(c)
		}
	}
	return out
}

const unsaid = "the runtime does not say"

// why is for people; whoever is ready needs no reason.
func why(c *cri.RuntimeCondition) string {
	switch {
	case c.GetStatus():
		return ""
	case c.GetReason() == "":
		return c.GetMessage()
	case c.GetMessage() == "":
		return c.GetReason()
	}
	return c.GetReason() + ": " + c.GetMessage()
}

// Stats are a container's figures; false if it has none, as one that does not
// run.
func Stats(s *cri.ContainerStats) (runtime.ContainerStats, bool) {
	at := max(s.GetCpu().GetTimestamp(), s.GetMemory().GetTimestamp())
	out := runtime.ContainerStats{
		ContainerID: s.GetAttributes().GetId(),
		Name:        s.GetAttributes().GetMetadata().GetName(),
		At:          when(at),
		CPU:         time.Duration(bounded(s.GetCpu().GetUsageCoreNanoSeconds().GetValue())),
		MemoryBytes: s.GetMemory().GetWorkingSetBytes().GetValue(),
	}
	return out, out.ContainerID != "" && at > 0
}

// Mountpoint is where images lie and what they take: the first of the file
// systems that says so. Empty: none does.
func Mountpoint(all []*cri.FilesystemUsage) (at string, used uint64) {
	for _, f := range all {
		if f.GetFsId().GetMountpoint() != "" {
			return f.GetFsId().GetMountpoint(), f.GetUsedBytes().GetValue()
		}
	}
	return "", 0
}

// Event is what a message of the stream is about. The pod is that of the
// sandbox, or of any container in it; empty if neither is told, or if it is of
// another owner, which mine then says.
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
