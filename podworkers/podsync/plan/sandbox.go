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

// findPodSandboxes finds the current sandbox of a pod and decides whether it must be replaced.
// reportsAddresses: the runtime reports the addresses of sandboxes.
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

// classifyOtherSandboxes sorts the other sandboxes of a pod. If another ready sandbox of this
// incarnation has a container that may run, the pod loses all its sandboxes. An empty ready sandbox
// of this incarnation is a duplicate: the reply to its creation was lost. Duplicates are removed.
// Any other ready sandbox is stopped.
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

// hasRunningContainer reports whether a container in a sandbox runs, or may run.
func hasRunningContainer(st *runtime.PodStatus, sandbox string) bool {
	for i := range st.Containers {
		c := &st.Containers[i]
		if c.SandboxID == sandbox && c.State.MayRun() {
			return true
		}
	}
	return false
}

// hasContainerRecords reports whether a sandbox has containers, in any state.
func hasContainerRecords(st *runtime.PodStatus, sandbox string) bool {
	for i := range st.Containers {
		if st.Containers[i].SandboxID == sandbox {
			return true
		}
	}
	return false
}

// newestSandbox returns the newest sandbox of one incarnation of the pod, or nil.
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

// isNewerSandbox compares sandboxes by attempt, then by creation time, then by ID.
func isNewerSandbox(a, b *runtime.SandboxStatus) bool {
	if a.Attempt != b.Attempt {
		return a.Attempt > b.Attempt
	}
	if !a.CreatedAt.Equal(b.CreatedAt) {
		return a.CreatedAt.After(b.CreatedAt)
	}
	return a.ID > b.ID
}

// nextSandboxAttempt returns one more than the highest sandbox attempt of any incarnation.
func nextSandboxAttempt(st *runtime.PodStatus) uint32 {
	var next uint32
	for i := range st.Sandboxes {
		if a := st.Sandboxes[i].Attempt; a >= next {
			next = a + 1
		}
	}
	return next
}
