package plan

import (
	"github.com/podkeel/podkeel/runtime"
)

// place is where the containers of a pod are, or would be, if it has one.
type place struct {
	current *runtime.SandboxStatus // newest of this life; nil: none
	replace Why                    // not empty: a new one is needed
	late    []string               // ready, older and empty: to be removed alone
}

// findPlace looks at the sandboxes of a pod.
func findPlace(in *Input) place {
	st := in.Status
	p := place{current: newestSandbox(st, in.Incarnation)}
	if p.current == nil {
		p.replace = WhyNoSandbox
		return p
	}
	switch {
	case !p.current.Ready:
		p.replace = WhySandboxNotReady
	case p.several(st):
		p.replace = WhySeveralSandboxes
	case p.current.HostNetwork != in.Pod.Spec.HostNetwork:
		p.replace = WhyNetworkMode
	case !p.current.HostNetwork && len(p.current.IPs) == 0:
		p.replace = WhyNoAddress
	}
	return p
}

// several reports whether another sandbox is ready too, and in use. One that
// is older and empty is what a call whose reply was lost left behind: it is
// noted as late, and the pod is left in peace.
func (p *place) several(st *runtime.PodStatus) bool {
	for i := range st.Sandboxes {
		s := &st.Sandboxes[i]
		if s == p.current || !s.Ready {
			continue
		}
		if newerSandbox(s, p.current) || inUse(st, s.ID) {
			return true
		}
		p.late = append(p.late, s.ID)
	}
	return false
}

func inUse(st *runtime.PodStatus, sandbox string) bool {
	for i := range st.Containers {
		if st.Containers[i].SandboxID == sandbox {
			return true
		}
	}
	return false
}

// newestSandbox finds the newest sandbox of one life of the pod. Nil: it has none.
func newestSandbox(st *runtime.PodStatus, life uint64) *runtime.SandboxStatus {
	var found *runtime.SandboxStatus
	for i := range st.Sandboxes {
		s := &st.Sandboxes[i]
		if s.Incarnation == life && (found == nil || newerSandbox(s, found)) {
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
