package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// setWaitingOrKeepTermination sets the status of a container that the runtime does not show. If the published
// status of the container is a final termination, it stays. Any other container becomes waiting. A container
// that was published as running also gets a last termination with the exit code exitUnknown. Its restart count
// is then raised by one, unless the pod is being deleted.
func (s *statusBuilder) setWaitingOrKeepTermination(in *StatusInput) {
	old := s.old
	if end := currentTermination(old); end != nil {
		s.keepPublishedWithTermination(*end)
		return
	}
	s.setWaiting(podstatus.WaitingReason(podstatus.Waiting{
		Pod: in.Pod, Container: s.spec, Ephemeral: s.role == ephemeral, Published: in.Old, // CA-6
	}), "")
	s.carryRestartsAndLastTermination()
	switch end := s.finalTermination(in); {
	case end != nil:
		s.keepPublishedWithTermination(*end)
	case old == nil || old.State.Running == nil:
	default:
		if in.Pod.DeletionTimestamp == nil {
			s.restarts = incrementRestartCount(s.restarts)
		}
		// The published last termination belongs to the attempt before.
		s.setLastTermination(lostContainerTermination(""))
	}
}

// lostContainerTermination returns the termination of a container that has a published status but no runtime
// record. It has the exit code exitUnknown and the reason ContainerStatusUnknown.
func lostContainerTermination(id string) v1.ContainerStateTerminated {
	return v1.ContainerStateTerminated{
		ExitCode: exitUnknown, Reason: string(podstatus.ReasonContainerStatusUnknown), Message: messageVanished, ContainerID: id,
	}
}

// finalTermination returns the termination of a container that the runtime does not show, if the container may
// not run again. It returns nil if the container may run again, is being started, or has never run. Init
// containers always run again (CS-5).
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
		startsInNewSandbox := in.sandboxes.replaceReason != "" && !in.isTerminatingTerminatedOrDeleted() && podstatus.MayRestartInNewSandbox(in.Pod, s.spec, code)
		if !startsInNewSandbox && end.Reason != reasonRestartingAll && !podstatus.MayRestart(in.Pod, s.spec, code) {
			return end
		}
	}
	return nil // Init containers start again.
}

// keepsTerminationOverRecord reports whether the published termination of a container stays although the newest
// record has not exited: the published phase is terminal, and the runtime has only created the container or does
// not know its state. Such a container never starts. The agent may have assumed its termination, and a restarted
// agent finds the record before it removes the container (ST-6).
func (in *StatusInput) keepsTerminationOverRecord(newest *runtime.ContainerStatus, published *v1.ContainerStatus) bool {
	return podstatus.IsTerminal(in.Old.Phase) && published.State.Terminated != nil &&
		newest.State != runtime.StateRunning && newest.State != runtime.StateExited
}

// keepPublishedWithTermination keeps the published status of the container, and sets its state to terminated
// with end. The published last termination is dropped if the container was published as waiting.
func (s *statusBuilder) keepPublishedWithTermination(end v1.ContainerStateTerminated) {
	old := s.old
	s.keepsPublished, s.image, s.imageID, s.id, s.restarts = true, old.Image, old.ImageID, old.ContainerID, old.RestartCount
	s.setTerminated(end)
	s.hasLast = false
	if last := old.LastTerminationState.Terminated; last != nil && old.State.Waiting == nil {
		s.setLastTermination(*last)
	}
}

// carryRestartsAndLastTermination keeps published values that the runtime no longer shows. The restart count
// never decreases. A published termination of an attempt that the runtime has lost becomes the last termination
// and raises the restart count. If that termination is already the current state, it does not also become the
// last termination.
func (s *statusBuilder) carryRestartsAndLastTermination() {
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
