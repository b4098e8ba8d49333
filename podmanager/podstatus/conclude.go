package podstatus

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Observed is what is known of a pod beyond the statuses of its containers. The zero
// value is a pod that has no sandbox and is not ending.
type Observed struct {
	// SandboxReady says that containers can run in the pod's sandbox. Where there are
	// no sandboxes it is that the pod's network is set up.
	SandboxReady bool
	// SandboxMessage says why containers cannot run in the pod's sandbox. It is the message
	// of the condition PodReadyToStartContainers while that is False, and counts for nothing
	// else. Empty means MessageNoSandbox.
	SandboxMessage string
	// SandboxLost says that the pod has no sandbox and does not get another one. Such a
	// pod is never Pending: it has Succeeded if all its regular containers have, or else
	// Failed with ReasonSandboxLost. It counts only while the pod is not ending.
	SandboxLost bool
	// Ending says that the pod is being terminated. A pod with a deletion timestamp and one
	// that is Terminated are ending too.
	Ending bool
	// Terminated says that nothing of the pod runs, or ever will: a container that its
	// restart policy would run again does not. Static pods, which begin again, are Running
	// all the same as long as one of their containers would.
	Terminated bool
	// Static says that the pod does not come from an API server.
	Static bool
	// RestartingAll says that all containers are starting over, by a restart rule.
	RestartingAll bool
	// Initialized says whether the pod is initialized in the sandbox that it has now. A pod
	// with init containers that is not is Pending until it is, or until it ends. Nil:
	// it is if any of its regular containers has run.
	Initialized *bool
	// Restarting are the names of containers that have ended and run again whatever their
	// restart policy says of the exit code: the next attempt is decided.
	Restarting []string
	// Outdated are the names of containers whose status is of an older sandbox than the one
	// that the pod has now. An init container among them has to run again, and one that runs
	// does not count as running.
	Outdated []string
	// Previous is the status that was published before, or nil; then the one that came with
	// the pod counts.
	Previous *v1.PodStatus
}

// Reasons and messages of pods.
const (
	// ReasonSandboxLost is the reason of a pod that has Failed because it lost its sandbox
	// before all its containers had run, and may not have another one.
	ReasonSandboxLost = "SandboxLost"

	// ReasonSandboxNotReady is the reason of the condition PodReadyToStartContainers while it
	// is False. Its message is Observed.SandboxMessage.
	ReasonSandboxNotReady = "PodSandboxNotReady"

	messageSandboxLost = "The sandbox was lost after a container had run, and the restart policy forbids another one"

	reasonAllStarted = "RestartAllContainersStarted"
)

// The messages of the condition PodReadyToStartContainers, as the kubelet writes them.
const (
	// MessageNoSandbox: the pod has none.
	MessageNoSandbox = "no pod sandbox exists"
	// MessageSeveralSandboxes: containers may run in more than one.
	MessageSeveralSandboxes = "multiple pod sandboxes are ready and need to be reconciled"
	// MessageSandboxNotReady: the newest has stopped.
	MessageSandboxNotReady = "pod sandbox is not ready"
	// MessageNetworkModeChanged: the pod wants the host's network and the sandbox has its
	// own, or the other way round.
	MessageNetworkModeChanged = "network namespace mode changed and sandbox needs to be recreated"
	// MessageSandboxNoAddress: the newest has its own network and no address.
	MessageSandboxNoAddress = "pod sandbox has no IP address"
)

// Conclude completes a status that has the statuses of the pod's containers: it sets
// Phase, Reason, Message and Conditions, and leaves all else as it is. Container statuses
// must be as the kubelet's are: with State, LastTerminationState, Ready and Started, one
// for each container of the spec, as far as it is known. A container without a status
// keeps the pod Pending.
//
// A terminal phase that was published, or that the pod came with, stays, with its reason.
// Conditions that others set are those that came with the pod. Transition times are not
// set.
//
// Conclude changes nothing that it is given. It may be called concurrently.
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
	in.setPhase(&status)
	status.Conditions = in.conditions(&status)
	return status
}

// conclusion is the state of one Conclude.
type conclusion struct {
	*Observed
	pod      *v1.Pod
	previous *v1.PodStatus // not nil

	restarting, outdated podspec.Index[string]
}

// setPhase computes the phase and keeps a terminal one and its reason.
func (in *conclusion) setPhase(s *v1.PodStatus) {
	s.Phase = in.phase(s)
	switch {
	case s.Phase != v1.PodPending || !in.SandboxLost || in.isEnding():
	case allSucceeded(s):
		s.Phase = v1.PodSucceeded // Only what ran beside them has not, or nobody knows.
	default:
		s.Phase, s.Reason, s.Message = v1.PodFailed, ReasonSandboxLost, messageSandboxLost
	}
	// What was published as the end stays the end, the API's word first. What is
	// computed after it, as of what the kill has left, is no reason of it.
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

// isEnding reports whether the node ends the pod, or has.
func (in *conclusion) isEnding() bool {
	return in.Ending || in.Terminated || in.pod.DeletionTimestamp != nil
}

// allSucceeded reports whether all regular containers of a pod have ended well.
func allSucceeded(s *v1.PodStatus) bool {
	for i := range s.ContainerStatuses {
		if end := s.ContainerStatuses[i].State.Terminated; end == nil || end.ExitCode != 0 {
			return false
		}
	}
	return len(s.ContainerStatuses) > 0
}

// conditions are ours, then those of others as they came with the pod.
func (in *conclusion) conditions(s *v1.PodStatus) []v1.PodCondition {
	containers := ContainersReadyCondition(in.pod, s)
	ours := append(make([]v1.PodCondition, 0, 6+len(in.pod.Status.Conditions)), in.readyToStart(), InitializedCondition(in.pod, s),
		ReadyCondition(in.pod, in.pod.Status.Conditions, containers), containers,
		v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue})
	if MayRestartAll(in.pod) {
		ours = append(ours, in.restartingAll())
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
		if c := &in.pod.Status.Conditions[i]; c.Type != v1.DisruptionTarget && !isConcluded(c.Type) {
			ours = append(ours, *c)
		}
	}
	return ours
}

// readyToStart says whether the sandbox is one in which containers can start.
func (in *conclusion) readyToStart() v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: v1.ConditionTrue}
	if !in.SandboxReady {
		c.Status, c.Reason, c.Message = v1.ConditionFalse, ReasonSandboxNotReady, cmp.Or(in.SandboxMessage, MessageNoSandbox)
	}
	return c
}

// restartingAll says whether all containers are starting over.
func (in *conclusion) restartingAll() v1.PodCondition {
	c := v1.PodCondition{Type: v1.AllContainersRestarting, Status: v1.ConditionFalse}
	if in.RestartingAll {
		c.Status, c.Reason = v1.ConditionTrue, reasonAllStarted
	}
	return c
}
