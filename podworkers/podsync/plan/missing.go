package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// setFromPublished builds the status of a container without a record. A published termination
// stays, also while the container waited for its restart.
func (s *statusBuilder) setFromPublished(in *StatusInput) {
	old := s.old
	if end := currentTermination(old); end != nil {
		s.keepPublished(*end)
		return
	}
	s.setWaiting(podstatus.WaitingReason(podstatus.Waiting{
		Pod: in.Pod, Container: s.spec, Ephemeral: s.role == ephemeral, Published: in.Old, // CA-6
	}), "")
	s.carryLastTermination()
	switch end := s.finalTermination(in); {
	case end != nil:
		s.keepPublished(*end)
	case old == nil || old.State.Running == nil:
	default:
		if in.Pod.DeletionTimestamp == nil {
			s.restarts = incrementRestartCount(s.restarts)
		}
		// The published last termination belongs to the attempt before.
		s.setLastTermination(lostContainerTermination(""))
	}
}

// lostContainerTermination returns the termination of a container that ran and whose record is
// lost.
func lostContainerTermination(id string) v1.ContainerStateTerminated {
	return v1.ContainerStateTerminated{
		ExitCode: exitUnknown, Reason: string(podstatus.ReasonContainerStatusUnknown), Message: messageVanished, ContainerID: id,
	}
}

// finalTermination returns the termination of a container without a record that may not run again.
// It returns nil if the container may run again or has not run (CS-5).
func (s *statusBuilder) finalTermination(in *StatusInput) *v1.ContainerStateTerminated {
	old := s.old
	if old == nil || in.starting.Find(s.spec.Name, 0) != nil {
		return nil
	}
	var end *v1.ContainerStateTerminated
	switch {
	case old.State.Running != nil:
		end = new(lostContainerTermination(old.ContainerID))
	case old.LastTerminationState.Terminated != nil:
		end = old.LastTerminationState.Terminated
	case s.role == ephemeral && old.ContainerID != "":
		end = new(lostContainerTermination(old.ContainerID)) // It was created, and runs only once.
	default:
		return nil
	}
	switch s.role {
	case ephemeral:
		return end
	case regular:
		code := in.Memory.containers.restartExitCode(s.spec.Name, end.ContainerID, end.ExitCode)
		startsInNewSandbox := in.sandboxes.replaceReason != "" && !in.isEnding() && podstatus.MayRestartInNewSandbox(in.Pod, s.spec, code)
		if !startsInNewSandbox && end.Reason != reasonRestartingAll && !podstatus.MayRestart(in.Pod, s.spec, code) {
			return end
		}
	}
	return nil // Init containers start again.
}

// keepPublished keeps the published status with end as its termination.
func (s *statusBuilder) keepPublished(end v1.ContainerStateTerminated) {
	old := s.old
	s.keepsPublished, s.image, s.imageID, s.id, s.restarts = true, old.Image, old.ImageID, old.ContainerID, old.RestartCount
	s.setTerminated(end)
	s.hasLast = false
	if last := old.LastTerminationState.Terminated; last != nil && old.State.Waiting == nil {
		s.setLastTermination(*last)
	}
}

// carryLastTermination keeps the published values that the records no longer show. A restart count
// never decreases. A published termination whose record is lost becomes the last termination,
// because a restart followed it. A termination that is the current state again is not also the last
// termination.
func (s *statusBuilder) carryLastTermination() {
	old := s.old
	if old == nil {
		return
	}
	s.restarts = max(s.restarts, old.RestartCount)
	// The current termination of the published status is newer than its last termination.
	if end := old.State.Terminated; end != nil && old.ContainerID != s.id && !s.hasLast {
		s.setLastTermination(*end)
		s.restarts = max(s.restarts, incrementRestartCount(old.RestartCount))
	}
	last := old.LastTerminationState.Terminated
	if last != nil && !s.hasLast && (s.state != stateTerminated || last.ContainerID != s.id) {
		s.setLastTermination(*last)
	}
}
