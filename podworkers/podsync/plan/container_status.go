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

// The messages and the exit code of containers whose exit the runtime does not report.
const (
	messageRestartingAll = "All containers of the pod restart"

	messageUnknown = "The runtime does not know how this container ended; it was running before"
	// messageStartCancelled: the agent stopped while it was starting the container. The container
	// is not started again, because it may have run, and a second run would be worse than none.
	messageStartCancelled = "the agent ended while this container was starting; it may or may not have run"
	messageVanished       = "The container has no record any more; it was running before"

	// exitUnknown is the exit code of a container whose exit the runtime does not report, as in the
	// kubelet. It is also the code of a process that SIGKILL ended, so a restart rule for 137 matches.
	exitUnknown = 137
)

// containerRole is the kind of a container.
type containerRole uint8

const (
	regular containerRole = iota
	ordinaryInit
	sidecar
	ephemeral
)

// readinessRoles has the role of a container for podstatus.DecideReadiness.
var readinessRoles = [...]podstatus.ContainerRole{
	regular: podstatus.RoleLasting, sidecar: podstatus.RoleLasting, ordinaryInit: podstatus.RoleInit, ephemeral: podstatus.RoleEphemeral,
}

// setContainerStatuses sets the container statuses of a pod status. Init and ephemeral containers are in the
// order of the spec, regular containers are sorted by name.
func setContainerStatuses(s *v1.PodStatus, in *StatusInput) {
	var x containerRecords
	x.readRecords(in)
	spec := &in.Pod.Spec
	s.InitContainerStatuses = buildContainerStatuses(in, &x, 0, len(spec.InitContainers), in.Old.InitContainerStatuses)
	s.ContainerStatuses = buildContainerStatuses(in, &x, x.regular, len(spec.Containers), in.Old.ContainerStatuses)
	s.EphemeralContainerStatuses = buildContainerStatuses(in, &x, x.ephemeral, len(spec.EphemeralContainers), in.Old.EphemeralContainerStatuses)
}

// buildContainerStatuses returns the statuses of n containers, beginning with the container at the position
// first of the spec. It sorts regular containers by name. It returns the published list old if that is equal,
// and nil if n is 0.
func buildContainerStatuses(in *StatusInput, x *containerRecords, first, n int, old []v1.ContainerStatus) []v1.ContainerStatus {
	if n == 0 {
		return nil
	}
	if in.canReusePublished(x, first, n, old) {
		return old[:n:n]
	}
	list, room := make([]v1.ContainerStatus, n), make([]statusBuffer, n)
	var d statusBuilder
	statuses := podspec.StatusIndex(old)
	for i := range list {
		d.buildWithoutProbeResults(in, x, first+i, statuses.Find(x.nameAt(first+i), i))
		d.writeTo(&list[i], &room[i])
	}
	if first == x.regular {
		slices.SortFunc(list, func(a, b v1.ContainerStatus) int { return strings.Compare(a.Name, b.Name) })
	}
	return list
}

// canReusePublished reports whether the published list old equals the list that would be built now. It returns
// false without a comparison if no status is published, a name occurs twice, or the length or the order
// differs.
func (in *StatusInput) canReusePublished(x *containerRecords, first, n int, old []v1.ContainerStatus) bool {
	if !in.hasOld || x.hasDuplicate || len(old) != n {
		return false
	}
	var d statusBuilder
	statuses := podspec.StatusIndex(old)
	for i := range n {
		if first == x.regular && i > 0 && old[i-1].Name >= old[i].Name {
			return false
		}
		its := statuses.Find(x.nameAt(first+i), i)
		if its == nil || first != x.regular && its != &old[i] {
			return false
		}
		d.buildWithoutProbeResults(in, x, first+i, its)
		if !d.equalsPublished() {
			return false
		}
	}
	return true
}

// buildWithoutProbeResults computes the status of the container at a position of the spec, and stores it in the
// builder. It does not apply probe results. old is the published status of the container, or nil.
func (s *statusBuilder) buildWithoutProbeResults(in *StatusInput, x *containerRecords, place int, old *v1.ContainerStatus) {
	s.statusFields = statusFields{old: old, recursiveReadOnly: in.RecursiveReadOnly}
	s.setSpec(&in.Pod.Spec, x, place)
	is, before := x.recordsAt(place)
	switch {
	case is == nil && in.restartingAll && s.hasPublishedRun():
		s.setRestartingAll()
	case s.role == ordinaryInit && !s.isPublishedAsRunning(in, is) && !isPublishedSuccess(s.old) && x.isInitSuccessImplied(in, place, currentTermination(s.old) != nil):
		s.setAssumedSuccess(in, is)
	case is != nil && s.old != nil && (isPublishedAttemptLost(is, s.old) || in.keepsTerminationOverRecord(is, s.old)):
		s.setWaitingOrKeepTermination(in)
	case is != nil:
		s.setFromRecords(in, is, before)
	default:
		s.setWaitingOrKeepTermination(in)
	}
	s.showAsWaitingIfReplaced(in, is)
	s.showWaitingReason(in, is)
	s.decideReadiness()
	s.setResources(in, is)
}

// setSpec sets the container spec, its role (regular, ordinary init, sidecar or ephemeral) and its image, for
// the container at a position of the pod spec.
func (s *statusBuilder) setSpec(spec *v1.PodSpec, x *containerRecords, place int) {
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

// setFromRecords sets the IDs, image, user, state, restart count and last termination from the current record of the
// container. before is its previous record, or nil. Published values that the records no longer show are kept.
func (s *statusBuilder) setFromRecords(in *StatusInput, rec, before *runtime.ContainerStatus) {
	s.id, s.imageID, s.user = s.statusContainerID(in, rec), rec.ImageRef, userForStatus(rec.User)
	s.inOlderSandbox = in.isRecordInOlderSandbox(rec)
	if rec.Image != "" {
		s.image = rec.Image
	}
	s.restarts = restartCountOf(rec.Attempt)
	switch rec.State {
	case runtime.StateRunning:
		s.state, s.running.StartedAt = stateRunning, truncateToSeconds(rec.StartedAt)
	case runtime.StateExited:
		s.setTerminated(terminationFromRecord(rec, s.id))
	case runtime.StateUnknown:
		s.setFromUnknownState()
	default:
		s.setWaiting("", "")
	}
	if before != nil {
		s.restarts = max(s.restarts, restartCountOf(before.Attempt))
		if before.State == runtime.StateExited {
			s.setLastTermination(s.laterTermination(before, terminationFromRecord(before, s.statusContainerID(in, before))))
		}
	}
	s.carryRestartsAndLastTermination()
}

// isPublishedAsRunning reports whether the published status shows exactly the container of the record, and
// shows it as running. It returns false for a nil record. The record itself may have exited.
func (s *statusBuilder) isPublishedAsRunning(in *StatusInput, rec *runtime.ContainerStatus) bool {
	return rec != nil && s.old != nil && s.old.State.Running != nil && in.matchesContainerID(s.old.ContainerID, rec.ID)
}

// setAssumedSuccess sets the state to Completed for an init container that must have succeeded because a later
// container was created. before is the record of an earlier attempt, or nil; it becomes the last termination
// and raises the restart count.
func (s *statusBuilder) setAssumedSuccess(in *StatusInput, before *runtime.ContainerStatus) {
	s.setTerminated(v1.ContainerStateTerminated{Reason: string(podstatus.ReasonCompleted)})
	if before != nil {
		s.restarts = incrementRestartCount(restartCountOf(before.Attempt))
		s.setLastTermination(terminationFromRecord(before, s.statusContainerID(in, before)))
	}
	s.carryRestartsAndLastTermination()
}

// laterTermination returns the termination to show as the last one. That is end, the termination of the attempt
// that the runtime shows before the newest. If the published status shows the termination of a later attempt
// that the runtime has lost, it returns the published one.
func (s *statusBuilder) laterTermination(before *runtime.ContainerStatus, end v1.ContainerStateTerminated) v1.ContainerStateTerminated {
	old := s.old
	if old == nil || !isOlderThanPublished(before, old) {
		return end
	}
	if t := old.State.Terminated; t != nil && old.ContainerID != s.id {
		return *t
	}
	t := old.LastTerminationState.Terminated
	switch {
	case t == nil, t.ContainerID == s.id && s.state == stateTerminated, t.ContainerID == end.ContainerID:
		return end
	case !t.FinishedAt.IsZero() && t.FinishedAt.Before(&end.FinishedAt):
		return end
	}
	return *t
}

// restartCountOf returns the restart count for an attempt number: the same number, at most the largest int32.
func restartCountOf(attempt uint32) int32 { return int32(min(attempt, math.MaxInt32)) }

// statusContainerID returns the container ID of a record with the scheme of the runtime, as in
// "containerd://id". It reuses the published string if that is equal, to save an allocation.
func (s *statusBuilder) statusContainerID(in *StatusInput, rec *runtime.ContainerStatus) string {
	if s.old != nil {
		if in.matchesContainerID(s.old.ContainerID, rec.ID) {
			return s.old.ContainerID
		}
		if last := s.old.LastTerminationState.Terminated; last != nil && in.matchesContainerID(last.ContainerID, rec.ID) {
			return last.ContainerID
		}
	}
	return in.RuntimeName + "://" + rec.ID
}

// matchesContainerID reports whether a published container ID, as in "containerd://id", has the scheme of this
// runtime and the given runtime ID.
func (in *StatusInput) matchesContainerID(published, id string) bool {
	rest, ok := strings.CutPrefix(published, in.RuntimeName)
	rest, hasScheme := strings.CutPrefix(rest, "://")
	return ok && hasScheme && rest == id
}

// setTerminated sets the state to terminated, with the details t.
func (s *statusBuilder) setTerminated(t v1.ContainerStateTerminated) {
	s.state, s.terminated = stateTerminated, t
}

// setLastTermination sets the last termination state of the container to t.
func (s *statusBuilder) setLastTermination(t v1.ContainerStateTerminated) {
	s.hasLast, s.lastTerminated = true, t
}

// setWaiting sets the state to waiting, with a reason and a message.
func (s *statusBuilder) setWaiting(reason podstatus.Reason, message string) {
	s.state, s.waiting = stateWaiting, v1.ContainerStateWaiting{Reason: string(reason), Message: message}
}

// setFromUnknownState sets the state of a container whose state the runtime does not know. A container that was
// published as running becomes terminated with exitUnknown, and its restart count rises. A published
// termination of the same container stays. Any other container becomes waiting.
func (s *statusBuilder) setFromUnknownState() {
	switch old := s.old; {
	case old != nil && old.State.Running != nil:
		s.setTerminated(v1.ContainerStateTerminated{
			ExitCode: exitUnknown, Reason: string(podstatus.ReasonContainerStatusUnknown), Message: messageUnknown, ContainerID: s.id,
		})
		s.restarts = max(s.restarts, incrementRestartCount(old.RestartCount))
	case old != nil && old.State.Terminated != nil && old.ContainerID == s.id:
		s.setTerminated(*old.State.Terminated) // A published termination stays.
	default:
		s.setWaiting("", "")
	}
}

// hasPublishedRun reports whether the published status proves that the container has run: its state is not
// waiting, or it has a last termination.
func (s *statusBuilder) hasPublishedRun() bool {
	return s.old != nil && (s.old.State.Waiting == nil || s.old.LastTerminationState.Terminated != nil)
}

// setRestartingAll sets the state of a container to waiting. The container was removed from the runtime because
// all containers of the pod restart. It raises the restart count, unless the published status already shows
// this restart (CS-14).
func (s *statusBuilder) setRestartingAll() {
	s.restarts = s.old.RestartCount
	if last := s.old.LastTerminationState.Terminated; s.old.State.Waiting == nil || last == nil || last.Reason != reasonRestartingAll {
		s.restarts = incrementRestartCount(s.restarts)
	}
	s.setWaiting(podstatus.ReasonRestartingAllContainers, "")
	s.setLastTermination(v1.ContainerStateTerminated{ExitCode: exitUnknown, Reason: reasonRestartingAll, Message: messageRestartingAll})
}

// showAsWaitingIfReplaced changes an exited regular container from terminated to waiting. It does so if a later
// attempt is being started, or if the executor stopped the container for its next attempt in a pod that does
// not terminate. It changes nothing if the restart policy allows a restart after the exit code anyway. Without
// this change the status would show a restart after a final exit, which the status store rejects (ST-6).
func (s *statusBuilder) showAsWaitingIfReplaced(in *StatusInput, rec *runtime.ContainerStatus) {
	if s.state != stateTerminated || s.role != regular || podstatus.MayRestart(in.Pod, s.spec, s.terminated.ExitCode) {
		return
	}
	if in.Memory.isStoppedForNextAttempt(s.spec.Name, s.terminated.ContainerID) && podstatus.MayRestart(in.Pod, s.spec, exitUnknown) && !in.isTerminatingTerminatedOrDeleted() {
		s.replaced = true
		s.setLastTermination(s.terminated)
		s.setWaiting(podstatus.ReasonContainerCreating, "")
		return
	}
	if rec == nil {
		return
	}
	if start := in.starting.Find(s.spec.Name, 0); start != nil && rec.Attempt < start.Attempt {
		s.setLastTermination(s.terminated)
		s.setWaiting(podstatus.ReasonContainerCreating, "")
	}
}

// showWaitingReason shows a container as waiting, with the reason of its last failed start, if the executor
// will start it again. The termination of the container then becomes the last termination. It does nothing if
// no such reason is stored, if the pod is terminal, or if the container is an init container that has succeeded
// (CS-7, CS-8). If the executor has started the container since it read the records, the published reason stays.
func (s *statusBuilder) showWaitingReason(in *StatusInput, rec *runtime.ContainerStatus) {
	reason := in.Memory.WaitingReason(s.spec.Name)
	if reason == (Reason{}) {
		reason = s.publishedReasonOfUnobservedStart(in)
	}
	if reason == (Reason{}) || in.Terminal || !s.willStart(in.Pod, rec) && !s.replaced || s.role == ordinaryInit && s.hasSucceeded() {
		return
	}
	if s.state == stateTerminated {
		s.setLastTermination(s.terminated)
	}
	s.setWaiting(podstatus.Reason(reason.Reason), reason.Message)
}

// publishedReasonOfUnobservedStart returns the published waiting reason of a container that the executor has started
// since it read the records, if the records show an exit. Without the reason the status would show that exit again,
// and then the new attempt with the same restart count. It returns the zero Reason in any other case.
func (s *statusBuilder) publishedReasonOfUnobservedStart(in *StatusInput) Reason {
	start := in.Memory.containers.findCompact(s.spec.Name).findUnpublishedStart()
	if start == nil || start.observed || s.state != stateTerminated || s.old == nil || s.old.State.Waiting == nil {
		return Reason{}
	}
	return Reason{Reason: s.old.State.Waiting.Reason, Message: s.old.State.Waiting.Message}
}

// willStart reports whether the executor will start the container. rec is the newest attempt that the runtime
// shows, or nil. It returns false for a deleted pod, and for an ephemeral container that has run (CA-6). After
// an exit the restart policy decides, even if only the published status shows the exit.
func (s *statusBuilder) willStart(pod *v1.Pod, rec *runtime.ContainerStatus) bool {
	if s.role == ephemeral && (s.state == stateTerminated || rec != nil && rec.State != runtime.StateCreated) {
		return false
	}
	if end := s.terminationWithoutRecord(rec); end != nil {
		return pod.DeletionTimestamp == nil && mayRestartAfter(pod, s.spec, end)
	}
	return shouldStartContainer(pod, s.spec, rec)
}

// terminationWithoutRecord returns the termination to show for a container whose newest attempt has no record.
// It returns nil if that attempt has a record, or if no termination is known.
func (s *statusBuilder) terminationWithoutRecord(rec *runtime.ContainerStatus) *v1.ContainerStateTerminated {
	switch {
	case rec != nil && (s.old == nil || !isPublishedAttemptLost(rec, s.old)):
	case s.state == stateTerminated:
		return &s.terminated
	case s.hasLast:
		return &s.lastTerminated
	}
	return nil
}

// decideReadiness sets Started and Ready of the container, without new probe results. A running container
// without a probe passes that probe; with a probe, the published value stays while the container ID is the same
// (CS-12).
func (s *statusBuilder) decideReadiness() {
	var published podstatus.Readiness
	if s.old != nil && s.old.ContainerID == s.id {
		published = podstatus.ReadinessOf(s.old)
	}
	s.readiness = podstatus.DecideReadiness(podstatus.ReadinessFacts{
		Role: readinessRoles[s.role], Running: s.state == stateRunning, Succeeded: s.hasSucceeded(), Unreachable: s.inOlderSandbox,
		StartupPassed: s.spec.StartupProbe == nil || published.Started, ReadinessPassed: s.spec.ReadinessProbe == nil || published.Ready,
	})
}

// hasSucceeded reports whether the state is terminated with exit code 0.
func (s *statusBuilder) hasSucceeded() bool {
	return s.state == stateTerminated && s.terminated.ExitCode == 0
}

// setResources sets the resources in the status to the resources of the spec. A container with the ID of the
// published status keeps the published resources (CS-11), or has the resources of the last resize. If the runtime
// resizes containers, only a created or running one does, and the allocated resources are always the requests of
// the spec (RZ-50). A container of an earlier agent that no published status shows has the resources that the
// runtime reports (RZ-32). The earlier agent may also have created it before a resize and not started it. The
// resources of a container that was created are never nil: an API server takes nil as a node that cannot resize.
func (s *statusBuilder) setResources(in *StatusInput, rec *runtime.ContainerStatus) {
	keeps := s.old != nil && s.id != "" && s.old.ContainerID == s.id
	resizes := in.Resizes && s.role != ephemeral
	s.allocated = s.spec.Resources.Requests
	if keeps && !resizes {
		s.allocated = s.old.AllocatedResources
	}
	r := wantedResources(s.spec, podLevelLimits(in.Pod))
	switch updated := in.Memory.containers.findCompact(s.spec.Name).findUpdated(s.id); {
	case resizes && s.state != stateRunning && (rec == nil || rec.State != runtime.StateCreated):
	case updated != nil && rec != nil && strings.HasSuffix(s.id, "://"+rec.ID):
		r = updated.confirmedBy(s.spec, r, rec.Resources)
	case updated != nil:
		r = &updated.resources
	case keeps && s.old.Resources != nil:
		s.inForce = s.old.Resources
		return
	case resizes && rec != nil && strings.HasSuffix(s.id, "://"+rec.ID):
		r = adoptResources(s.spec, r, rec.Resources)
	}
	if len(r.Requests) > 0 || len(r.Limits) > 0 || s.id != "" {
		s.inForce = r
	}
}

// RunningState returns the state of a running container, by its record.
func RunningState(rec *runtime.ContainerStatus) v1.ContainerState {
	return v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: truncateToSeconds(rec.StartedAt)}}
}
