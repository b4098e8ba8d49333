package podstatus

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Observed has the facts about a pod that its container statuses do not show. The zero value is a
// pod without a sandbox that is not terminating.
type Observed struct {
	// SandboxReady: containers can run in the sandbox of the pod. On a node without sandboxes: the
	// network of the pod is set up.
	SandboxReady bool
	// SandboxMessage says why containers cannot run in the sandbox. It is the message of the
	// condition PodReadyToStartContainers while that is False. Empty means MessageNoSandbox.
	SandboxMessage string
	// SandboxLost: the pod has no sandbox and does not get another one. Such a pod is never
	// Pending: it has Succeeded if all its regular containers have, and otherwise Failed with
	// ReasonSandboxLost. The field has no effect while the pod is terminating.
	SandboxLost bool
	// Ending: the node is terminating the pod. A pod with a deletion timestamp and a Terminated pod
	// count too.
	Ending bool
	// Terminated: nothing of the pod runs, or will run, whatever its restart policy is. A static
	// pod, which starts again, is Running all the same if the policy would restart one of its
	// containers.
	Terminated bool
	// Static: the pod does not come from an API server.
	Static bool
	// RestartingAll: a restart rule is restarting all containers.
	RestartingAll bool
	// Initialized says whether the pod is initialized in its current sandbox. A pod with init
	// containers is Pending until it is initialized or terminates. Nil: the pod is initialized if a
	// regular container has run.
	Initialized *bool
	// Restarting has the names of the terminated containers that start again although their restart
	// policy would not start them.
	Restarting []string
	// Outdated has the names of the containers whose status belongs to an older sandbox. An init
	// container among them has to run again. A running one does not count as running.
	Outdated []string
	// Previous is the published status before this one. Nil: the status in the pod counts.
	Previous *v1.PodStatus
}

// Reasons and messages of pods.
const (
	// ReasonSandboxLost is the reason of a Failed pod that lost its sandbox before all its
	// containers had run, and may not have another one.
	ReasonSandboxLost = "SandboxLost"

	// ReasonSandboxNotReady is the reason of the condition PodReadyToStartContainers while it is
	// False.
	ReasonSandboxNotReady = "PodSandboxNotReady"

	messageSandboxLost = "The sandbox was lost after a container had run, and the restart policy forbids another one"

	reasonAllStarted = "RestartAllContainersStarted"
)

// The messages of the condition PodReadyToStartContainers, as the kubelet writes them.
const (
	// MessageNoSandbox: the pod has no sandbox.
	MessageNoSandbox = "no pod sandbox exists"
	// MessageSeveralSandboxes: containers may run in more than one sandbox.
	MessageSeveralSandboxes = "multiple pod sandboxes are ready and need to be reconciled"
	// MessageSandboxNotReady: the newest sandbox has stopped.
	MessageSandboxNotReady = "pod sandbox is not ready"
	// MessageNetworkModeChanged: the sandbox has its own network and the pod wants the host's
	// network, or the reverse.
	MessageNetworkModeChanged = "network namespace mode changed and sandbox needs to be recreated"
	// MessageSandboxNoAddress: the newest sandbox has its own network and no address.
	MessageSandboxNoAddress = "pod sandbox has no IP address"
)

// Conclude completes a status that has the statuses of the pod's containers. It sets Phase, Reason,
// Message and Conditions, and copies everything else. The container statuses must be as the kubelet
// writes them, with State, LastTerminationState, Ready and Started. A container without a status
// keeps the pod Pending.
//
// A terminal phase that was published, or that the pod came with, stays with its reason. The
// conditions of other writers come from the pod. Conclude does not set transition times.
//
// Conclude does not change its arguments. It may be called concurrently.
func Conclude(pod *v1.Pod, status v1.PodStatus, observed Observed) v1.PodStatus {
	if pod == nil {
		pod = new(v1.Pod)
	}
	name := func(name *string) string { return *name }
	in := conclusion{
		pod: pod, Observed: &observed, previous: observed.Previous,
		restarting: podspec.NewIndex(observed.Restarting, name), outdated: podspec.NewIndex(observed.Outdated, name),
	}
	if in.previous == nil {
		in.previous = &pod.Status
	}
	in.setPhaseAndReason(&status)
	status.Conditions = in.buildConditions(&status)
	return status
}

// conclusion is the state of one call of Conclude.
type conclusion struct {
	*Observed
	pod      *v1.Pod
	previous *v1.PodStatus // not nil

	restarting, outdated podspec.Index[string]
}

// setPhaseAndReason sets the phase, reason and message of the pod status from its container statuses. A
// terminal phase in the previous status or in the pod stays. If a pod has lost its sandbox and is not
// terminating, the phase is Succeeded or Failed where it would be Pending. An earlier reason of the same phase
// stays.
func (in *conclusion) setPhaseAndReason(s *v1.PodStatus) {
	s.Phase = in.decidePhase(s)
	switch {
	case s.Phase != v1.PodPending || !in.SandboxLost || in.isTerminatingOrTerminated():
	case haveRegularContainersSucceeded(s):
		s.Phase = v1.PodSucceeded // Only sidecars and ephemeral containers have not.
	default:
		s.Phase, s.Reason, s.Message = v1.PodFailed, ReasonSandboxLost, messageSandboxLost
	}
	// A terminal phase stays; the phase from the API has priority. Exits that the kill has caused are
	// not its reason.
	for _, former := range [...]*v1.PodStatus{&in.pod.Status, in.previous} {
		if IsTerminal(former.Phase) {
			s.Phase, s.Reason, s.Message = former.Phase, "", ""
			break
		}
	}
	if s.Reason != "" || s.Message != "" {
		return
	}
	for _, former := range [...]*v1.PodStatus{in.previous, &in.pod.Status} {
		if former.Phase == s.Phase && (former.Reason != "" || former.Message != "") {
			s.Reason, s.Message = former.Reason, former.Message
			return
		}
	}
}

// isTerminatingOrTerminated reports whether the pod has a deletion timestamp, or the node is terminating it or
// has terminated it.
func (in *conclusion) isTerminatingOrTerminated() bool {
	return in.Ending || in.Terminated || in.pod.DeletionTimestamp != nil
}

// haveRegularContainersSucceeded reports whether all regular containers in a status have exited with 0. It
// returns false if the status has no regular container.
func haveRegularContainersSucceeded(s *v1.PodStatus) bool {
	for i := range s.ContainerStatuses {
		if end := s.ContainerStatuses[i].State.Terminated; end == nil || end.ExitCode != 0 {
			return false
		}
	}
	return len(s.ContainerStatuses) > 0
}

// buildConditions returns the pod's conditions: the computed ones of the node, with the pod's generation, then
// DisruptionTarget from the previous status, then the conditions in the pod that the node does not compute.
func (in *conclusion) buildConditions(s *v1.PodStatus) []v1.PodCondition {
	containers := ContainersReadyCondition(in.pod, s)
	ours := append(make([]v1.PodCondition, 0, 6+len(in.pod.Status.Conditions)), in.readyToStartCondition(), InitializedCondition(in.pod, s),
		ReadyCondition(in.pod, in.pod.Status.Conditions, containers), containers,
		v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue})
	if MayRestartAll(in.pod) {
		ours = append(ours, in.restartingAllCondition())
	}
	for i := range ours {
		ours[i].ObservedGeneration = in.pod.Generation
	}
	for i := range in.previous.Conditions {
		if c := &in.previous.Conditions[i]; c.Type == v1.DisruptionTarget {
			ours = append(ours, *c)
		}
	}
	for i := range in.pod.Status.Conditions {
		if c := &in.pod.Status.Conditions[i]; c.Type != v1.DisruptionTarget && !isConditionOfConclude(c.Type) {
			ours = append(ours, *c)
		}
	}
	return ours
}

// readyToStartCondition returns the condition PodReadyToStartContainers. It is true if the sandbox is ready. If
// it is false, it has the sandbox's message, or MessageNoSandbox.
func (in *conclusion) readyToStartCondition() v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: v1.ConditionTrue}
	if !in.SandboxReady {
		c.Status, c.Reason, c.Message = v1.ConditionFalse, ReasonSandboxNotReady, cmp.Or(in.SandboxMessage, MessageNoSandbox)
	}
	return c
}

// restartingAllCondition returns the condition AllContainersRestarting. It is true while a restart rule
// restarts all containers of the pod.
func (in *conclusion) restartingAllCondition() v1.PodCondition {
	c := v1.PodCondition{Type: v1.AllContainersRestarting, Status: v1.ConditionFalse}
	if in.RestartingAll {
		c.Status, c.Reason = v1.ConditionTrue, reasonAllStarted
	}
	return c
}
