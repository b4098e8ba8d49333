package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// missing describes a container without a record. One that was published as
// ended is still that, also if it waited to be started again.
func (s *statusBuilder) missing(in *StatusInput) {
	old := s.old
	if end := currentEnd(old); end != nil {
		s.keep(*end)
		return
	}
	s.wait(podstatus.WaitingReason(podstatus.Waiting{
		Pod: in.Pod, Container: s.spec, Ephemeral: s.role == ephemeral, Published: in.Old, // CA-6
	}), "")
	s.carryLastTermination()
	switch end := s.finalEnd(in); {
	case end != nil:
		s.keep(*end)
	case old == nil || old.State.Running == nil:
	default:
		if in.Pod.DeletionTimestamp == nil {
			s.restarts = oneMore(s.restarts)
		}
		// How the attempt before it ended is not how this one did.
		s.lastEnd(lostContainerEnd(""))
	}
}

// lostContainerEnd is the end of a container whose record is gone, and that ran before.
func lostContainerEnd(id string) v1.ContainerStateTerminated {
	return v1.ContainerStateTerminated{
		ExitCode: exitUnknown, Reason: string(podstatus.ReasonContainerStatusUnknown), Message: messageVanished, ContainerID: id,
	}
}

// finalEnd returns how a container without a record has ended, if it may not run again. It
// returns nil if the container may, or has not run. What the container was published to
// wait for does not come: it is over. [CS-5]
func (s *statusBuilder) finalEnd(in *StatusInput) *v1.ContainerStateTerminated {
	old := s.old
	if old == nil || in.starting.Find(s.spec.Name, 0) != nil {
		return nil
	}
	var end *v1.ContainerStateTerminated
	switch {
	case old.State.Running != nil:
		end = new(lostContainerEnd(old.ContainerID))
	case old.LastTerminationState.Terminated != nil:
		end = old.LastTerminationState.Terminated
	case s.role == ephemeral && old.ContainerID != "":
		end = new(lostContainerEnd(old.ContainerID)) // It was made, and it is not made again.
	default:
		return nil
	}
	switch s.role {
	case ephemeral:
		return end
	case regular:
		code := in.Memory.pasts.code(s.spec.Name, end.ContainerID, end.ExitCode)
		anew := in.place.replace != "" && !in.isEnding() && podstatus.MayRestartInNewSandbox(in.Pod, s.spec, code)
		if !anew && end.Reason != reasonRestartingAll && !podstatus.MayRestart(in.Pod, s.spec, code) {
			return end
		}
	}
	return nil // Init containers are started again.
}

// keep describes a container as it was published, with end as its end.
func (s *statusBuilder) keep(end v1.ContainerStateTerminated) {
	old := s.old
	s.kept, s.image, s.imageID, s.id, s.restarts = true, old.Image, old.ImageID, old.ContainerID, old.RestartCount
	s.end(end)
	s.wasOver = false
	if last := old.LastTerminationState.Terminated; last != nil && old.State.Waiting == nil {
		s.lastEnd(*last)
	}
}

// carryLastTermination keeps values of the published status that the records no longer show: a restart count
// never falls, and lastState stays. A termination that is in state again (it was in lastState while the
// container waited) is not also in lastState. A termination that was in state and whose record is gone moves to
// lastState, because a restart has followed it.
func (s *statusBuilder) carryLastTermination() {
	old := s.old
	if old == nil {
		return
	}
	s.restarts = max(s.restarts, old.RestartCount)
	// The current end of the published status is newer than its last end.
	if end := old.State.Terminated; end != nil && old.ContainerID != s.id && !s.wasOver {
		s.lastEnd(*end)
		s.restarts = max(s.restarts, oneMore(old.RestartCount))
	}
	last := old.LastTerminationState.Terminated
	if last != nil && !s.wasOver && (s.state != isOver || last.ContainerID != s.id) {
		s.lastEnd(*last)
	}
}
