package plan

import (
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/containers"
	"github.com/podkeel/podkeel/runtime"
)

// The words of container statuses that people and programs know.
const (
	reasonCreating     = "ContainerCreating"
	reasonInitializing = "PodInitializing"
	reasonUnknown      = "ContainerStatusUnknown"
	reasonCompleted    = "Completed"
	reasonError        = "Error"

	messageRestartingAll = "All containers of the pod begin anew"

	messageUnknown  = "The runtime does not know how this container ended; it was running before"
	messageVanished = "The container has no record any more; it was running before"

	// exitUnknown stands for an end that nobody saw: never a success.
	exitUnknown = 137
)

// role is what a container is to its pod.
type role uint8

const (
	regular role = iota
	ordinaryInit
	sidecar
	ephemeral
)

// parts is room for what a container status points to: all of a pod have theirs
// in one piece.
type parts struct {
	running     v1.ContainerStateRunning
	waiting     v1.ContainerStateWaiting
	state, last v1.ContainerStateTerminated
	started     bool
}

// setContainers describes all containers of a pod: init and ephemeral ones in
// the order of the spec, regular ones by name.
func setContainers(s *v1.PodStatus, in *StatusInput) {
	spec := &in.Pod.Spec
	n := len(spec.InitContainers) + len(spec.Containers) + len(spec.EphemeralContainers)
	out, room := make([]v1.ContainerStatus, n), make([]parts, n)
	take := func(n int) (list []v1.ContainerStatus, parts []parts) {
		if n == 0 {
			return nil, nil
		}
		list, parts, out, room = out[:n:n], room[:n], out[n:], room[n:]
		return list, parts
	}
	list, its := take(len(spec.InitContainers))
	for i := range list {
		c, r := &spec.InitContainers[i], ordinaryInit
		if isSidecar(c) {
			r = sidecar
		}
		describe(in, c, r, findAt(in.Old.InitContainerStatuses, c.Name, i), &list[i], &its[i])
	}
	s.InitContainerStatuses = list
	list, its = take(len(spec.Containers))
	for i := range list {
		c := &spec.Containers[i]
		describe(in, c, regular, findAt(in.Old.ContainerStatuses, c.Name, i), &list[i], &its[i])
	}
	s.ContainerStatuses = list
	list, its = take(len(spec.EphemeralContainers))
	for i := range list {
		c := (*v1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)
		describe(in, c, ephemeral, findAt(in.Old.EphemeralContainerStatuses, c.Name, i), &list[i], &its[i])
	}
	s.EphemeralContainerStatuses = list
	slices.SortFunc(s.ContainerStatuses, func(a, b v1.ContainerStatus) int { return strings.Compare(a.Name, b.Name) })
}

// findAt looks a status up by name, first where it usually is. Nil: there is
// none.
func findAt(list []v1.ContainerStatus, name string, place int) *v1.ContainerStatus {
	return containers.Status(list, name, place)
}

// described is a container that is being described.
type described struct {
	*v1.ContainerStatus
	in    *StatusInput
	spec  *v1.Container
	role  role
	old   *v1.ContainerStatus // as published; nil: it was not
	parts *parts
}

// describe fills in the status of one container. old is its published one, or nil.
func describe(in *StatusInput, c *v1.Container, r role, old, into *v1.ContainerStatus, room *parts) {
	s := described{into, in, c, r, old, room}
	s.Name, s.Image = c.Name, c.Image
	is, before := seen(in, c.Name)
	switch {
	case is != nil:
		s.observed(is, before)
	case in.anew && s.ran():
		s.beginsAnew()
	case r == ordinaryInit && laterExists(in, c.Name) && !succeeded(old):
		// It must have succeeded: what comes after it was created.
		s.end(v1.ContainerStateTerminated{Reason: reasonCompleted})
		s.carry()
	default:
		s.missing()
	}
	s.explain(is)
	s.readiness()
	s.resources()
}

// seen finds the record that a container is and the one that tells how it ended
// before. It is what runs in the pod's sandbox, as for Decide, or else the newest.
// Nil: there is none. [CS-1]
func seen(in *StatusInput, name string) (is, before *runtime.ContainerStatus) {
	st := in.Runtime
	for i := range st.Containers {
		c := &st.Containers[i]
		if c.Name != name || c.Incarnation != in.Incarnation {
			continue
		}
		switch {
		case is == nil || in.before(is, c):
			is, before = c, is
		case before == nil || newer(c, before):
			before = c
		}
	}
	return is, before
}

// before reports whether b is what the container is rather than a.
func (in *StatusInput) before(a, b *runtime.ContainerStatus) bool {
	if x, y := in.runsHere(a), in.runsHere(b); x != y {
		return y
	}
	return newer(b, a)
}

func (in *StatusInput) runsHere(c *runtime.ContainerStatus) bool {
	return c.State == runtime.StateRunning && in.place.current != nil && c.SandboxID == in.place.current.ID
}

// observed describes a container from its record and from the one before it.
func (s *described) observed(rec, before *runtime.ContainerStatus) {
	s.ContainerID = s.id(rec)
	s.ImageID = rec.ImageRef
	if rec.Image != "" {
		s.Image = rec.Image
	}
	s.RestartCount = count(rec.Attempt)
	switch rec.State {
	case runtime.StateRunning:
		s.parts.running.StartedAt = metav1.NewTime(rec.StartedAt)
		s.State.Running = &s.parts.running
	case runtime.StateExited:
		s.end(terminated(rec, s.ContainerID))
	case runtime.StateUnknown:
		s.unknown()
	default:
		s.wait("", "")
	}
	if before != nil {
		s.RestartCount = max(s.RestartCount, count(before.Attempt))
		if before.State == runtime.StateExited {
			s.lastEnd(terminated(before, s.id(before)))
		}
	}
	s.carry()
}

// count is the restart count after that many attempts before.
func count(attempt uint32) int32 { return int32(min(attempt, math.MaxInt32)) }

// id is the name of a record in statuses. One that was published serves again.
func (s *described) id(rec *runtime.ContainerStatus) string {
	if s.old != nil {
		if s.in.isID(s.old.ContainerID, rec.ID) {
			return s.old.ContainerID
		}
		if last := s.old.LastTerminationState.Terminated; last != nil && s.in.isID(last.ContainerID, rec.ID) {
			return last.ContainerID
		}
	}
	return s.in.RuntimeName + "://" + rec.ID
}

func (in *StatusInput) isID(published, id string) bool {
	rest, ok := strings.CutPrefix(published, in.RuntimeName)
	rest, is := strings.CutPrefix(rest, "://")
	return ok && is && rest == id
}

// end says that the container has ended.
func (s *described) end(t v1.ContainerStateTerminated) {
	s.parts.state = t
	s.State = v1.ContainerState{Terminated: &s.parts.state}
}

// lastEnd says how it ended before.
func (s *described) lastEnd(t v1.ContainerStateTerminated) {
	s.parts.last = t
	s.LastTerminationState = v1.ContainerState{Terminated: &s.parts.last}
}

// wait says that it does not run, and why.
func (s *described) wait(reason, message string) {
	s.parts.waiting = v1.ContainerStateWaiting{Reason: reason, Message: message}
	s.State = v1.ContainerState{Waiting: &s.parts.waiting}
}

// unknown describes a container of which the runtime does not know how it is:
// if it ran before, that is over, and not as a success.
func (s *described) unknown() {
	switch old := s.old; {
	case old != nil && old.State.Running != nil:
		s.end(v1.ContainerStateTerminated{
			ExitCode: exitUnknown, Reason: reasonUnknown, Message: messageUnknown, ContainerID: s.ContainerID,
		})
		s.RestartCount = max(s.RestartCount, oneMore(old.RestartCount))
	case old != nil && old.State.Terminated != nil && old.ContainerID == s.ContainerID:
		s.end(*old.State.Terminated) // An end stays an end.
	default:
		s.wait("", "")
	}
}

// ran reports whether it was published that the container ran.
func (s *described) ran() bool {
	return s.old != nil && (s.old.State.Waiting == nil || s.old.LastTerminationState.Terminated != nil)
}

// beginsAnew describes a container whose record was removed because all of the
// pod begin anew. How it had ended before does not keep it from that. [CS-14]
func (s *described) beginsAnew() {
	s.RestartCount = s.old.RestartCount
	if last := s.old.LastTerminationState.Terminated; s.old.State.Waiting == nil || last == nil || last.Reason != reasonRestartingAll {
		s.RestartCount = oneMore(s.RestartCount)
	}
	s.wait(reasonRestartingAll, "")
	s.lastEnd(v1.ContainerStateTerminated{ExitCode: exitUnknown, Reason: reasonRestartingAll, Message: messageRestartingAll})
}

// missing describes a container without a record. One that was published as
// ended is still that, also if it waited to be started again.
func (s *described) missing() {
	old := s.old
	if end := currentEnd(old); end != nil {
		old.DeepCopyInto(s.ContainerStatus)
		if old.State.Terminated == nil {
			s.end(*end)
			s.LastTerminationState = v1.ContainerState{}
		}
		return
	}
	// An ephemeral container does not wait for the pod to be initialized (CA-6).
	reason := reasonCreating
	if len(s.in.Pod.Spec.InitContainers) > 0 && s.role != ephemeral {
		reason = reasonInitializing
	}
	s.wait(reason, "")
	s.carry()
	if old == nil || old.State.Running == nil {
		return
	}
	if s.in.Pod.DeletionTimestamp == nil {
		s.RestartCount = oneMore(s.RestartCount)
	}
	if s.LastTerminationState.Terminated == nil {
		s.lastEnd(v1.ContainerStateTerminated{ExitCode: exitUnknown, Reason: reasonUnknown, Message: messageVanished})
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
func (s *described) carry() {
	old := s.old
	if old == nil {
		return
	}
	s.RestartCount = max(s.RestartCount, old.RestartCount)
	last := old.LastTerminationState.Terminated
	if last != nil && s.LastTerminationState.Terminated == nil && (s.State.Terminated == nil || last.ContainerID != s.ContainerID) {
		s.lastEnd(*last)
	}
	if end := old.State.Terminated; end != nil && old.ContainerID != s.ContainerID && s.LastTerminationState.Terminated == nil {
		s.lastEnd(*end)
		s.RestartCount = max(s.RestartCount, oneMore(old.RestartCount))
	}
}

// explain turns a container that is to be started again, and whose last start
// failed, into one that waits for a reason. When all is over nothing waits, nor
// does an ordinary init container that has succeeded. [CS-7, CS-8]
func (s *described) explain(rec *runtime.ContainerStatus) {
	reason, ok := s.in.Reasons[s.Name]
	end := s.State.Terminated
	if !ok || s.in.Terminal || !s.starts(rec) || s.role == ordinaryInit && end != nil && end.ExitCode == 0 {
		return
	}
	if end != nil {
		s.lastEnd(*end)
	}
	s.wait(reason.Reason, reason.Message)
}

// starts reports whether the container is to be started, given its record. An
// ephemeral one is once. [CA-6]
func (s *described) starts(rec *runtime.ContainerStatus) bool {
	if s.role == ephemeral && (s.State.Terminated != nil || rec != nil && rec.State != runtime.StateCreated) {
		return false
	}
	return shouldStart(s.in.Pod, s.spec, rec)
}

// readiness tells whether the container counts as started and as ready, as far
// as that is known without its probes. One without probes is as soon as it
// runs; one with them stays what was published of it, as long as it is the same
// one that runs (CS-12), and whoever asks the probes may say otherwise. An
// ordinary init container is ready when it is done; an ephemeral one is never
// asked.
func (s *described) readiness() {
	if s.role == ephemeral {
		s.Started, s.Ready = nil, false
		return
	}
	running, same := s.State.Running != nil, s.old != nil && s.old.ContainerID == s.ContainerID
	s.parts.started = running && (s.spec.StartupProbe == nil || same && s.old.Started != nil && *s.old.Started)
	s.Started = &s.parts.started
	s.Ready = s.parts.started && (s.spec.ReadinessProbe == nil || same && s.old.Ready)
	if s.role == ordinaryInit {
		s.Ready = s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
	}
}

// resources are those of the spec, which are allocated and in force as long as
// nothing is resized. [CS-11]
func (s *described) resources() {
	r := &s.spec.Resources
	s.AllocatedResources, s.Resources = r.Requests, nil
	if len(r.Requests) > 0 || len(r.Limits) > 0 {
		s.Resources = r
	}
}

// terminated describes an exited record. Times that a runtime left out or got
// in the wrong order are set so that an end has a beginning before it.
func terminated(rec *runtime.ContainerStatus, id string) v1.ContainerStateTerminated {
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
	return v1.ContainerStateTerminated{
		ExitCode: rec.ExitCode, Reason: reason, Message: rec.Message, ContainerID: id,
		StartedAt: metav1.NewTime(started), FinishedAt: metav1.NewTime(finished),
	}
}

// laterExists reports whether a container that is started only after an init
// container has a record in this life: a later one of them, or a regular one.
func laterExists(in *StatusInput, init string) bool {
	if len(in.Runtime.Containers) == 0 {
		return false
	}
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
