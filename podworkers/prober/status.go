package prober

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// UpdatePodStatus sets Started and Ready of every container in a status that
// is being made. A readiness probe that has not come to a
// verdict is made due at once. It is called for each status before that is
// stored, after AddPod. Of a pod that was never added the spec says which
// probes there are, and none of them has succeeded.
func (p *Prober) UpdatePodStatus(spec *v1.Pod, status *v1.PodStatus) {
	now := p.executor.Now()
	p.mu.Lock()
	known := p.mu.pods[spec.UID]
	if known != nil && known.spec == nil {
		known = nil // Seen, but not added.
	}
	for i := range status.ContainerStatuses {
		s := &status.ContainerStatuses[i]
		p.judgeLocked(known, podspec.Regular(spec, s.Name), s, now)
	}
	for i := range status.InitContainerStatuses {
		s := &status.InitContainerStatuses[i]
		c := podspec.Init(spec, s.Name)
		p.judgeLocked(known, c, s, now)
		if c != nil && !podspec.IsSidecar(c) { // PR-17
			s.Ready = s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
		}
	}
	p.leave()
}

// judgeLocked sets Started and Ready of one container.
func (p *Prober) judgeLocked(known *pod, spec *v1.Container, s *v1.ContainerStatus, now time.Time) {
	started, ready := s.State.Running != nil, true
	switch c := known.find(s.Name); {
	case c != nil:
		started = started && c.state.Started(s.ContainerID)
		ready = c.state.Ready(s.ContainerID)
		if started && !ready {
			c.state.Hurry(now)
			p.changedLocked(c, nil, "")
		}
	case known == nil && spec != nil:
		started = started && spec.StartupProbe == nil
		ready = spec.ReadinessProbe == nil
	}
	s.Started, s.Ready = &started, started && ready
}
