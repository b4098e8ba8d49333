package plan

import (
	"math"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/runtime"
)

// The words of container statuses that people and programs know.
const (
	reasonCreating     = "ContainerCreating"
	reasonInitializing = "PodInitializing"
	reasonUnknown      = "ContainerStatusUnknown"
	reasonCompleted    = "Completed"
	reasonError        = "Error"

	messageUnknown  = "The runtime does not know how this container ended; it was running before"
	messageVanished = "The container has no record any more; it was running before"

	// exitUnknown stands for an end that nobody saw: never a success.
	exitUnknown = 137
)

// statuses are those of the init containers or of the regular ones, in the
// order of the spec.
func statuses(in *StatusInput, containers []v1.Container, init bool) []v1.ContainerStatus {
	if len(containers) == 0 {
		return nil
	}
	former := in.Old.ContainerStatuses
	if init {
		former = in.Old.InitContainerStatuses
	}
	out := make([]v1.ContainerStatus, len(containers))
	for i := range containers {
		out[i] = containerStatus(in, &containers[i], find(former, containers[i].Name), init)
	}
	return out
}

// find looks a status up by name. Nil: there is none.
func find(statuses []v1.ContainerStatus, name string) *v1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name == name {
			return &statuses[i]
		}
	}
	return nil
}

// containerStatus describes one container; old is its published status or nil.
func containerStatus(in *StatusInput, c *v1.Container, old *v1.ContainerStatus, init bool) v1.ContainerStatus {
	first, second := newestTwo(in.Runtime, in.Incarnation, c.Name)
	s := v1.ContainerStatus{Name: c.Name, Image: c.Image}
	switch {
	case first != nil:
		observed(in, &s, first, second, old)
	case init && laterExists(in, c.Name) && !succeeded(old):
		// It must have succeeded: what comes after it was created.
		s.State.Terminated = &v1.ContainerStateTerminated{Reason: reasonCompleted}
		carry(&s, old)
	default:
		missing(in, &s, old)
	}
	if s.State.Terminated == nil || s.State.Terminated.ExitCode != 0 || !init {
		explain(in, &s, c, first)
	}
	readiness(&s, init)
	return s
}

// observed describes a container from its two newest records.
func observed(in *StatusInput, s *v1.ContainerStatus, rec, before *runtime.ContainerStatus, old *v1.ContainerStatus) {
	s.ContainerID = in.RuntimeName + "://" + rec.ID
	s.ImageID = rec.ImageRef
	if rec.Image != "" {
		s.Image = rec.Image
	}
	s.RestartCount = int32(min(rec.Attempt, 1<<31-1))
	switch rec.State {
	case runtime.StateRunning:
		s.State.Running = &v1.ContainerStateRunning{StartedAt: metav1.NewTime(rec.StartedAt)}
	case runtime.StateExited:
		s.State.Terminated = terminated(rec, s.ContainerID)
	case runtime.StateUnknown:
		unknown(s, old)
	default:
		s.State.Waiting = &v1.ContainerStateWaiting{}
	}
	if before != nil && before.State == runtime.StateExited {
		s.LastTerminationState.Terminated = terminated(before, in.RuntimeName+"://"+before.ID)
	}
	carry(s, old)
}

// unknown describes a container of which the runtime does not know how it is:
// if it ran before, that is over, and not as a success.
func unknown(s *v1.ContainerStatus, old *v1.ContainerStatus) {
	switch {
	case old != nil && old.State.Running != nil:
		s.State.Terminated = &v1.ContainerStateTerminated{
			ExitCode: exitUnknown, Reason: reasonUnknown, Message: messageUnknown, ContainerID: s.ContainerID,
		}
		s.RestartCount = max(s.RestartCount, oneMore(old.RestartCount))
	case old != nil && old.State.Terminated != nil && old.ContainerID == s.ContainerID:
		s.State.Terminated = old.State.Terminated.DeepCopy() // An end stays an end.
	default:
		s.State.Waiting = &v1.ContainerStateWaiting{}
	}
}

// missing describes a container without a record. One that was published as
// ended is still that, also if it waited to be started again.
func missing(in *StatusInput, s *v1.ContainerStatus, old *v1.ContainerStatus) {
	if end := currentEnd(old); end != nil {
		old.DeepCopyInto(s)
		if old.State.Terminated == nil {
			s.State = v1.ContainerState{Terminated: end.DeepCopy()}
			s.LastTerminationState = v1.ContainerState{}
		}
		return
	}
	reason := reasonCreating
	if len(in.Pod.Spec.InitContainers) > 0 {
		reason = reasonInitializing
	}
	s.State.Waiting = &v1.ContainerStateWaiting{Reason: reason}
	carry(s, old)
	if old == nil || old.State.Running == nil {
		return
	}
	if in.Pod.DeletionTimestamp == nil {
		s.RestartCount = oneMore(s.RestartCount)
	}
	if s.LastTerminationState.Terminated == nil {
		s.LastTerminationState.Terminated = &v1.ContainerStateTerminated{
			ExitCode: exitUnknown, Reason: reasonUnknown, Message: messageVanished,
		}
	}
}

// currentEnd is how a container ended of which nothing was begun after that. Nil:
// it has not ended, or something was.
func currentEnd(old *v1.ContainerStatus) *v1.ContainerStateTerminated {
	if old == nil {
		return nil
	}
	last := old.LastTerminationState.Terminated
	if old.State.Waiting != nil && last != nil && last.ContainerID != "" && last.ContainerID == old.ContainerID {
		return last
	}
	return old.State.Terminated
}

func succeeded(old *v1.ContainerStatus) bool {
	end := currentEnd(old)
	return end != nil && end.ExitCode == 0
}

// oneMore is a restart count after a restart.
func oneMore(count int32) int32 { return count + int32(min(math.MaxInt32-count, 1)) }

// carry keeps of the published status what the records do not tell any more: a
// restart count never falls, and the last end is not forgotten. The end that
// is current again (it was last while its container waited) is not also last;
// one that was current and whose record is gone is, and was followed by a restart.
func carry(s *v1.ContainerStatus, old *v1.ContainerStatus) {
	if old == nil {
		return
	}
	s.RestartCount = max(s.RestartCount, old.RestartCount)
	last := old.LastTerminationState.Terminated
	if last != nil && s.LastTerminationState.Terminated == nil && (s.State.Terminated == nil || last.ContainerID != s.ContainerID) {
		s.LastTerminationState.Terminated = last.DeepCopy()
	}
	if end := old.State.Terminated; end != nil && old.ContainerID != s.ContainerID && s.LastTerminationState.Terminated == nil {
		s.LastTerminationState.Terminated = end.DeepCopy()
		s.RestartCount = max(s.RestartCount, oneMore(old.RestartCount))
	}
}

// explain turns a container that is to be started again, and whose last start
// failed, into one that waits for a reason. When all is over nothing waits.
func explain(in *StatusInput, s *v1.ContainerStatus, c *v1.Container, rec *runtime.ContainerStatus) {
	reason, ok := in.Reasons[s.Name]
	if !ok || in.Terminal || !shouldStart(in.Pod, c, rec) {
		return
	}
	if s.State.Terminated != nil {
		s.LastTerminationState = s.State
	}
	s.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason.Reason, Message: reason.Message}}
}

// readiness tells whether the container counts as started and as ready. One
// without probes is as soon as it runs; an init container is when it is done.
func readiness(s *v1.ContainerStatus, init bool) {
	running := s.State.Running != nil
	s.Started = &running
	s.Ready = running
	if init {
		s.Ready = s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
	}
}

// terminated describes an exited record. Times that a runtime left out or got
// in the wrong order are set so that an end has a beginning before it.
func terminated(rec *runtime.ContainerStatus, id string) *v1.ContainerStateTerminated {
	finished := rec.FinishedAt
	if finished.IsZero() {
		finished = rec.StartedAt
	}
	started := rec.StartedAt
	if started.IsZero() || started.After(finished) {
		started = finished
	}
	reason := rec.Reason
	if reason == "" {
		reason = reasonCompleted
		if rec.ExitCode != 0 {
			reason = reasonError
		}
	}
	return &v1.ContainerStateTerminated{
		ExitCode: rec.ExitCode, Reason: reason, Message: rec.Message, ContainerID: id,
		StartedAt: metav1.NewTime(started), FinishedAt: metav1.NewTime(finished),
	}
}

// laterExists reports whether a container that is started only after an init
// container has a record in this life: a later one of them, or a regular one.
func laterExists(in *StatusInput, init string) bool {
	all := in.Pod.Spec.InitContainers
	for i := len(all) - 1; i >= 0 && all[i].Name != init; i-- {
		if newest(in.Runtime, in.Incarnation, anySandbox, all[i].Name) != nil {
			return true
		}
	}
	for i := range in.Pod.Spec.Containers {
		if newest(in.Runtime, in.Incarnation, anySandbox, in.Pod.Spec.Containers[i].Name) != nil {
			return true
		}
	}
	return false
}
