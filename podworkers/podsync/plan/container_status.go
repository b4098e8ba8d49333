package plan

import (
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// The words of container statuses that people and programs know.
const (
	messageRestartingAll = "All containers of the pod begin anew"

	messageUnknown = "The runtime does not know how this container ended; it was running before"
	// messageStartCancelled is of a container whose start was given up with the agent that made
	// it. A second run without proof that there was no first one would be worse than none.
	messageStartCancelled = "the agent ended while this container was starting; it may or may not have run"
	messageVanished       = "The container has no record any more; it was running before"

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

// readinessRoles has the role of a container for podstatus.DecideReadiness.
var readinessRoles = [...]podstatus.ContainerRole{
	regular: podstatus.RoleLasting, sidecar: podstatus.RoleLasting, ordinaryInit: podstatus.RoleInit, ephemeral: podstatus.RoleEphemeral,
}

// setContainers describes all containers of a pod: init and ephemeral ones in
// the order of the spec, regular ones by name.
func setContainers(s *v1.PodStatus, in *StatusInput) {
	var x containerRecords
	x.read(in)
	spec := &in.Pod.Spec
	s.InitContainerStatuses = describeAll(in, &x, 0, len(spec.InitContainers), in.Old.InitContainerStatuses)
	s.ContainerStatuses = describeAll(in, &x, x.regular, len(spec.Containers), in.Old.ContainerStatuses)
	s.EphemeralContainerStatuses = describeAll(in, &x, x.ephemeral, len(spec.EphemeralContainers), in.Old.EphemeralContainerStatuses)
}

// describeAll describes the n containers from a place of the spec on, which are
// of one list. If all that was published of them is still so, that list serves
// again: in most syncs nothing has changed, and nothing is made.
func describeAll(in *StatusInput, x *containerRecords, first, n int, old []v1.ContainerStatus) []v1.ContainerStatus {
	if n == 0 {
		return nil
	}
	if in.serves(x, first, n, old) {
		return old[:n:n]
	}
	list, room := make([]v1.ContainerStatus, n), make([]parts, n)
	var d statusBuilder
	statuses := podspec.StatusIndex(old)
	for i := range list {
		d.describe(in, x, first+i, statuses.Find(x.name(first+i), i))
		d.write(&list[i], &room[i])
	}
	if first == x.regular {
		slices.SortFunc(list, func(a, b v1.ContainerStatus) int { return strings.Compare(a.Name, b.Name) })
	}
	return list
}

// serves reports whether a published list is what would be made anew.
func (in *StatusInput) serves(x *containerRecords, first, n int, old []v1.ContainerStatus) bool {
	if !in.given || x.doubled || len(old) != n {
		return false
	}
	var d statusBuilder
	statuses := podspec.StatusIndex(old)
	for i := range n {
		if first == x.regular && i > 0 && old[i-1].Name >= old[i].Name {
			return false
		}
		its := statuses.Find(x.name(first+i), i)
		if its == nil || first != x.regular && its != &old[i] {
			return false
		}
		d.describe(in, x, first+i, its)
		if !d.repeats() {
			return false
		}
	}
	return true
}

// describe finds out all there is to say of the container at a place of the spec,
// of which old was published, or nothing.
func (s *statusBuilder) describe(in *StatusInput, x *containerRecords, place int, old *v1.ContainerStatus) {
	s.said = said{old: old}
	s.specified(&in.Pod.Spec, x, place)
	is, before := x.at(place)
	switch {
	case is == nil && in.anew && s.ran():
		s.beginsAnew()
	case s.role == ordinaryInit && !s.justEnded(in, is) && !succeeded(s.old) && x.passed(in, place, currentEnd(s.old) != nil):
		s.mustHaveSucceeded(in, is)
	case is != nil && s.old != nil && isLost(is, s.old):
		s.missing(in)
	case is != nil:
		s.observed(in, is, before)
	default:
		s.missing(in)
	}
	s.hideReplacedEnd(in, is)
	s.explain(in, is)
	s.readiness()
	s.resources()
}

// specified begins with what the spec says of the container.
func (s *statusBuilder) specified(spec *v1.PodSpec, x *containerRecords, place int) {
	switch {
	case place >= x.ephemeral:
		s.spec, s.role = (*v1.Container)(&spec.EphemeralContainers[place-x.ephemeral].EphemeralContainerCommon), ephemeral
	case place >= x.regular:
		s.spec, s.role = &spec.Containers[place-x.regular], regular
	default:
		s.spec, s.role = &spec.InitContainers[place], ordinaryInit
		if podspec.IsSidecar(s.spec) {
			s.role = sidecar
		}
	}
	s.image = s.spec.Image
}

// observed describes a container from its record and from the one before it.
func (s *statusBuilder) observed(in *StatusInput, rec, before *runtime.ContainerStatus) {
	s.id, s.imageID = s.idOf(in, rec), rec.ImageRef
	s.away = in.place.replace == "" && rec.SandboxID != in.place.current.ID
	if rec.Image != "" {
		s.image = rec.Image
	}
	s.restarts = count(rec.Attempt)
	switch rec.State {
	case runtime.StateRunning:
		s.state, s.running.StartedAt = isRunning, wholeSeconds(rec.StartedAt)
	case runtime.StateExited:
		s.end(terminated(rec, s.id))
	case runtime.StateUnknown:
		s.unknown()
	default:
		s.wait("", "")
	}
	if before != nil {
		s.restarts = max(s.restarts, count(before.Attempt))
		if before.State == runtime.StateExited {
			s.lastEnd(s.laterEnd(before, terminated(before, s.idOf(in, before))))
		}
	}
	s.carryLastTermination()
}

// justEnded reports whether a record is of what was published as running.
func (s *statusBuilder) justEnded(in *StatusInput, rec *runtime.ContainerStatus) bool {
	return rec != nil && s.old != nil && s.old.State.Running != nil && in.isID(s.old.ContainerID, rec.ID)
}

// mustHaveSucceeded describes an ordinary init container of which no record says
// that it has succeeded, though what comes after it was created. If there is one, it
// is that of an attempt before.
func (s *statusBuilder) mustHaveSucceeded(in *StatusInput, before *runtime.ContainerStatus) {
	s.end(v1.ContainerStateTerminated{Reason: string(podstatus.ReasonCompleted)})
	if before != nil {
		s.restarts = oneMore(count(before.Attempt))
		s.lastEnd(terminated(before, s.idOf(in, before)))
	}
	s.carryLastTermination()
}

// laterEnd is the end of the attempt before, or the published end of an attempt
// that was later than that and has no record any more.
func (s *statusBuilder) laterEnd(before *runtime.ContainerStatus, end v1.ContainerStateTerminated) v1.ContainerStateTerminated {
	old := s.old
	if old == nil || !outrun(before, old) {
		return end
	}
	if t := old.State.Terminated; t != nil && old.ContainerID != s.id {
		return *t
	}
	t := old.LastTerminationState.Terminated
	switch {
	case t == nil, t.ContainerID == s.id && s.state == isOver, t.ContainerID == end.ContainerID:
		return end
	case !t.FinishedAt.IsZero() && t.FinishedAt.Before(&end.FinishedAt):
		return end
	}
	return *t
}

// count is the restart count after that many attempts before.
func count(attempt uint32) int32 { return int32(min(attempt, math.MaxInt32)) }

// idOf is the name of a record in statuses. One that was published serves again.
func (s *statusBuilder) idOf(in *StatusInput, rec *runtime.ContainerStatus) string {
	if s.old != nil {
		if in.isID(s.old.ContainerID, rec.ID) {
			return s.old.ContainerID
		}
		if last := s.old.LastTerminationState.Terminated; last != nil && in.isID(last.ContainerID, rec.ID) {
			return last.ContainerID
		}
	}
	return in.RuntimeName + "://" + rec.ID
}

func (in *StatusInput) isID(published, id string) bool {
	rest, ok := strings.CutPrefix(published, in.RuntimeName)
	rest, is := strings.CutPrefix(rest, "://")
	return ok && is && rest == id
}

// end says that the container has ended.
func (s *statusBuilder) end(t v1.ContainerStateTerminated) { s.state, s.ended = isOver, t }

// lastEnd says how it ended before.
func (s *statusBuilder) lastEnd(t v1.ContainerStateTerminated) { s.wasOver, s.last = true, t }

// wait says that it does not run, and why.
func (s *statusBuilder) wait(reason podstatus.Reason, message string) {
	s.state, s.waiting = isWaiting, v1.ContainerStateWaiting{Reason: string(reason), Message: message}
}

// unknown describes a container of which the runtime does not know how it is:
// if it ran before, that is over, and not as a success.
func (s *statusBuilder) unknown() {
	switch old := s.old; {
	case old != nil && old.State.Running != nil:
		s.end(v1.ContainerStateTerminated{
			ExitCode: exitUnknown, Reason: string(podstatus.ReasonContainerStatusUnknown), Message: messageUnknown, ContainerID: s.id,
		})
		s.restarts = max(s.restarts, oneMore(old.RestartCount))
	case old != nil && old.State.Terminated != nil && old.ContainerID == s.id:
		s.end(*old.State.Terminated) // An end stays an end.
	default:
		s.wait("", "")
	}
}

// ran reports whether it was published that the container ran.
func (s *statusBuilder) ran() bool {
	return s.old != nil && (s.old.State.Waiting == nil || s.old.LastTerminationState.Terminated != nil)
}

// beginsAnew describes a container whose record was removed because all of the
// pod begin anew. How it had ended before does not keep it from that. [CS-14]
func (s *statusBuilder) beginsAnew() {
	s.restarts = s.old.RestartCount
	if last := s.old.LastTerminationState.Terminated; s.old.State.Waiting == nil || last == nil || last.Reason != reasonRestartingAll {
		s.restarts = oneMore(s.restarts)
	}
	s.wait(podstatus.ReasonRestartingAllContainers, "")
	s.lastEnd(v1.ContainerStateTerminated{ExitCode: exitUnknown, Reason: reasonRestartingAll, Message: messageRestartingAll})
}

// hideReplacedEnd shows a regular container as waiting if it exited while it was replaced and the policy would
// count that exit as its end: otherwise the container would come back from its end. It does the same for a
// container that was stopped for its next attempt while that attempt is held. Init containers and sidecars
// have other reasons to run again. [ST-6]
func (s *statusBuilder) hideReplacedEnd(in *StatusInput, rec *runtime.ContainerStatus) {
	if s.state != isOver || s.role != regular || podstatus.MayRestart(in.Pod, s.spec, s.ended.ExitCode) {
		return
	}
	if in.Memory.isReplaced(s.spec.Name, s.ended.ContainerID) && podstatus.MayRestart(in.Pod, s.spec, exitUnknown) && !in.isEnding() {
		s.replaced = true
		s.lastEnd(s.ended)
		s.wait(podstatus.ReasonContainerCreating, "")
		return
	}
	if rec == nil {
		return
	}
	if start := in.starting.Find(s.spec.Name, 0); start != nil && rec.Attempt < start.Attempt {
		s.lastEnd(s.ended)
		s.wait(podstatus.ReasonContainerCreating, "")
	}
}

// explain turns a container that is to be started again, and whose last start
// failed, into one that waits for a reason. When all is over nothing waits, nor
// does an ordinary init container that has succeeded. [CS-7, CS-8]
func (s *statusBuilder) explain(in *StatusInput, rec *runtime.ContainerStatus) {
	reason := in.Memory.WaitingReason(s.spec.Name)
	if reason == (Reason{}) || in.Terminal || !s.starts(in.Pod, rec) && !s.replaced || s.role == ordinaryInit && s.succeeded() {
		return
	}
	if s.state == isOver {
		s.lastEnd(s.ended)
	}
	s.wait(podstatus.Reason(reason.Reason), reason.Message)
}

// starts reports whether the container is to be started, given its record. An
// ephemeral one is once. [CA-6]
func (s *statusBuilder) starts(pod *v1.Pod, rec *runtime.ContainerStatus) bool {
	if s.role == ephemeral && (s.state == isOver || rec != nil && rec.State != runtime.StateCreated) {
		return false
	}
	if end := s.lastOfGone(rec); end != nil {
		return pod.DeletionTimestamp == nil && mayRunAgain(pod, s.spec, end)
	}
	return shouldStart(pod, s.spec, rec)
}

// lastOfGone is how a container ended last whose record is gone, as far as was
// published: that decides whether it starts again, as if it had the record. Nil: its
// record tells, or it never ran.
func (s *statusBuilder) lastOfGone(rec *runtime.ContainerStatus) *v1.ContainerStateTerminated {
	switch {
	case rec != nil && (s.old == nil || !isLost(rec, s.old)):
	case s.state == isOver:
		return &s.ended
	case s.wasOver:
		return &s.last
	}
	return nil
}

// readiness decides whether the container has started and is ready, without its probes. A container
// without probes is both as soon as it runs. A container with probes keeps what was published, as long
// as the same container runs (CS-12); the caller of ContainerStatuses applies the probe results.
func (s *statusBuilder) readiness() {
	var published podstatus.Readiness
	if s.old != nil && s.old.ContainerID == s.id {
		published = podstatus.ReadinessOf(s.old)
	}
	s.ready = podstatus.DecideReadiness(podstatus.ReadinessFacts{
		Role: readinessRoles[s.role], Running: s.state == isRunning, Succeeded: s.succeeded(), Unreachable: s.away,
		StartupPassed: s.spec.StartupProbe == nil || published.Started, ReadinessPassed: s.spec.ReadinessProbe == nil || published.Ready,
	})
}

// succeeded reports whether it has ended well.
func (s *statusBuilder) succeeded() bool { return s.state == isOver && s.ended.ExitCode == 0 }

// resources are those of the spec, which are allocated and in force as long as
// nothing is resized. A container that was made before they changed has those that
// were published of it. [CS-11]
func (s *statusBuilder) resources() {
	if s.old != nil && s.id != "" && s.old.ContainerID == s.id {
		s.allocated, s.inForce = s.old.AllocatedResources, s.old.Resources
		return
	}
	r := &s.spec.Resources
	s.allocated = r.Requests
	if len(r.Requests) > 0 || len(r.Limits) > 0 {
		s.inForce = r
	}
}
