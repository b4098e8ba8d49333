package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// podSandboxes has the current sandbox of a pod and the other sandboxes by their treatment.
type podSandboxes struct {
	current       *runtime.SandboxStatus // the newest one of this incarnation, or nil
	replaceReason Why                    // why the pod needs a new sandbox; empty: it does not
	hasSeveral    bool                   // a container may run in another ready one of this incarnation
	duplicates    []string               // ready, older and without records of containers: removed
	unused        []string               // any other ready one: stopped
	former        []string               // of another incarnation, not ready
}

// findPodSandboxes returns the current sandbox of a pod, its other sandboxes grouped by what happens to them,
// and the reason to replace the current sandbox. The reason is "" if the current sandbox stays.
// reportsAddresses says that the runtime reports sandbox addresses. Only then is a missing address a reason.
func findPodSandboxes(pod *v1.Pod, st *runtime.PodStatus, incarnation uint64, reportsAddresses bool) podSandboxes {
	p := podSandboxes{current: newestSandbox(st, incarnation)}
	if p.current == nil {
		p.replaceReason = WhyNoSandbox
		return p
	}
	switch p.classifyOtherSandboxes(st); {
	case !p.current.Ready:
		p.replaceReason = WhySandboxNotReady
	case p.hasSeveral:
		p.replaceReason = WhySeveralSandboxes
	case p.current.HostNetwork != pod.Spec.HostNetwork:
		p.replaceReason = WhyNetworkMode
	case reportsAddresses && !p.current.HostNetwork && len(p.current.IPs) == 0:
		p.replaceReason = WhyNoAddress
	}
	return p
}

// classifyOtherSandboxes sorts the other sandboxes of a pod by what happens to them. Ready ones of this pod
// without containers are removed, and any other ready ones are stopped. Unready ones of former pods with the
// same UID may be removed later. It sets hasSeveral if another ready sandbox of this pod has a container that
// may run.
func (p *podSandboxes) classifyOtherSandboxes(st *runtime.PodStatus) {
	for i := range st.Sandboxes {
		s := &st.Sandboxes[i]
		isFormer := s.Incarnation != p.current.Incarnation
		switch {
		case s == p.current:
		case !s.Ready && isFormer:
			p.former = append(p.former, s.ID)
		case !s.Ready:
		case !isFormer && hasRunningContainer(st, s.ID):
			p.hasSeveral = true
		case isFormer || hasContainerRecords(st, s.ID):
			p.unused = append(p.unused, s.ID)
		default:
			p.duplicates = append(p.duplicates, s.ID)
		}
	}
}

// hasRunningContainer reports whether a sandbox has a container that runs or may run.
func hasRunningContainer(st *runtime.PodStatus, sandbox string) bool {
	for i := range st.Containers {
		c := &st.Containers[i]
		if c.SandboxID == sandbox && c.State.MayRun() {
			return true
		}
	}
	return false
}

// hasContainerRecords reports whether a sandbox has any container, in any state.
func hasContainerRecords(st *runtime.PodStatus, sandbox string) bool {
	for i := range st.Containers {
		if st.Containers[i].SandboxID == sandbox {
			return true
		}
	}
	return false
}

// newestSandbox returns the newest sandbox of a pod with the incarnation (the number among several pods in turn
// with the same UID), or nil if there is none.
func newestSandbox(st *runtime.PodStatus, incarnation uint64) *runtime.SandboxStatus {
	var found *runtime.SandboxStatus
	for i := range st.Sandboxes {
		s := &st.Sandboxes[i]
		if s.Incarnation == incarnation && (found == nil || isNewerSandbox(s, found)) {
			found = s
		}
	}
	return found
}

// isNewerSandbox reports whether sandbox is newer than other. The attempt number decides, then the creation
// time, then the ID.
func isNewerSandbox(sandbox, other *runtime.SandboxStatus) bool {
	if sandbox.Attempt != other.Attempt {
		return sandbox.Attempt > other.Attempt
	}
	if !sandbox.CreatedAt.Equal(other.CreatedAt) {
		return sandbox.CreatedAt.After(other.CreatedAt)
	}
	return sandbox.ID > other.ID
}

// nextSandboxAttempt returns one more than the highest attempt of all sandboxes, including sandboxes of former
// pods with the same UID. It returns 0 without sandboxes.
func nextSandboxAttempt(st *runtime.PodStatus) uint32 {
	var next uint32
	for i := range st.Sandboxes {
		if a := st.Sandboxes[i].Attempt; a >= next {
			next = a + 1
		}
	}
	return next
}
