package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// place is where the containers of a pod are, or would be, if it has one.
type place struct {
	current *runtime.SandboxStatus // newest of this incarnation; nil: none
	replace Why                    // not empty: a new one is needed
	several bool                   // another of this incarnation is ready and in use
	late    []string               // ready, older and empty: to be removed alone
	idle    []string               // ready, older and of no use: to be stopped alone
	former  []string               // of a previous incarnation, and not ready
}

// findPlace finds the sandbox of a pod. addresses says that the runtime reports the addresses of
// sandboxes.
func findPlace(pod *v1.Pod, st *runtime.PodStatus, incarnation uint64, addresses bool) place {
	p := place{current: newestSandbox(st, incarnation)}
	if p.current == nil {
		p.replace = WhyNoSandbox
		return p
	}
	switch p.others(st); {
	case !p.current.Ready:
		p.replace = WhySandboxNotReady
	case p.several:
		p.replace = WhySeveralSandboxes
	case p.current.HostNetwork != pod.Spec.HostNetwork:
		p.replace = WhyNetworkMode
	case addresses && !p.current.HostNetwork && len(p.current.IPs) == 0:
		p.replace = WhyNoAddress
	}
	return p
}

// others sorts the sandboxes beside the current one. Two of this incarnation with
// something alive in each cost the pod its containers. Any other that is ready
// is noted and goes alone, and the pod is left in peace: one of this incarnation that
// is empty is what a call whose reply was lost left behind; one with records of
// what has ended, or of a previous incarnation, was stopped on the runtime's word.
func (p *place) others(st *runtime.PodStatus) {
	for i := range st.Sandboxes {
		s := &st.Sandboxes[i]
		isFormer := s.Incarnation != p.current.Incarnation
		switch {
		case s == p.current:
		case !s.Ready && isFormer:
			p.former = append(p.former, s.ID)
		case !s.Ready:
		case !isFormer && mayRun(st, s.ID):
			p.several = true
		case isFormer || recorded(st, s.ID):
			p.idle = append(p.idle, s.ID)
		default:
			p.late = append(p.late, s.ID)
		}
	}
}

// mayRun reports whether a container in a sandbox runs, or may.
func mayRun(st *runtime.PodStatus, sandbox string) bool {
	for i := range st.Containers {
		c := &st.Containers[i]
		if c.SandboxID == sandbox && c.State.MayRun() {
			return true
		}
	}
	return false
}

// recorded reports whether a sandbox has containers, in whatever state.
func recorded(st *runtime.PodStatus, sandbox string) bool {
	for i := range st.Containers {
		if st.Containers[i].SandboxID == sandbox {
			return true
		}
	}
	return false
}

// newestSandbox finds the newest sandbox of one incarnation of the pod. Nil: it has none.
func newestSandbox(st *runtime.PodStatus, incarnation uint64) *runtime.SandboxStatus {
	var found *runtime.SandboxStatus
	for i := range st.Sandboxes {
		s := &st.Sandboxes[i]
		if s.Incarnation == incarnation && (found == nil || newerSandbox(s, found)) {
			found = s
		}
	}
	return found
}

// newerSandbox orders sandboxes as newer does containers.
func newerSandbox(a, b *runtime.SandboxStatus) bool {
	if a.Attempt != b.Attempt {
		return a.Attempt > b.Attempt
	}
	if !a.CreatedAt.Equal(b.CreatedAt) {
		return a.CreatedAt.After(b.CreatedAt)
	}
	return a.ID > b.ID
}

// nextSandboxAttempt is one more than the highest attempt seen, in any life.
func nextSandboxAttempt(st *runtime.PodStatus) uint32 {
	var next uint32
	for i := range st.Sandboxes {
		if a := st.Sandboxes[i].Attempt; a >= next {
			next = a + 1
		}
	}
	return next
}
