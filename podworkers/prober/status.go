package prober

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
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
		p.judgeLocked(known, podspec.RegularContainer(spec, s.Name), podstatus.RoleLasting, s, now)
	}
	for i := range status.InitContainerStatuses {
		s := &status.InitContainerStatuses[i]
		c, role := podspec.InitContainer(spec, s.Name), podstatus.RoleLasting
		if c != nil && !podspec.IsSidecar(c) {
			role = podstatus.RoleInit // PR-17
		}
		p.judgeLocked(known, c, role, s, now)
	}
	p.leave()
}

// judgeLocked sets Started and Ready in the status of one container from the verdicts of its probes.
// spec is nil if the pod has no container of that name.
func (p *Prober) judgeLocked(known *pod, spec *v1.Container, role podstatus.ContainerRole, s *v1.ContainerStatus, now time.Time) {
	started, ready := true, true
	switch c := known.find(s.Name); {
	case c != nil:
		started, ready = c.state.Started(s.ContainerID), c.state.Ready(s.ContainerID)
		if s.State.Running != nil && started && !ready {
			c.state.Hurry(now)
			p.changedLocked(c, nil, "")
		}
	case known == nil && spec != nil:
		started, ready = spec.StartupProbe == nil, spec.ReadinessProbe == nil
	}
	podstatus.SetProbed(role, s, started, ready)
}

// outbox hands results over, in order and one at a time, without a lock held
// and without a goroutine of its own: whoever finds nobody at it delivers, also
// what others add meanwhile. A result that is added from within a delivery
// waits for its turn there.
type outbox struct {
	mu struct {
		sync.Mutex
		waiting []Result
		busy    bool
	}
}

// add is called under the prober's lock, which is what orders the results.
func (o *outbox) add(r Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.waiting = append(o.mu.waiting, r)
}

// deliver tells everything that waits, unless somebody is doing so.
func (o *outbox) deliver(tell func(Result)) {
	for mine := false; ; mine = true {
		r, ok := o.next(mine)
		if !ok {
			return
		}
		tell(r)
	}
}

// next takes the oldest result. mine says that the caller is the one who is
// delivering.
func (o *outbox) next(mine bool) (Result, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.busy && !mine {
		return Result{}, false
	}
	if len(o.mu.waiting) == 0 {
		o.mu.busy, o.mu.waiting = false, nil
		return Result{}, false
	}
	o.mu.busy = true
	r := o.mu.waiting[0]
	o.mu.waiting = o.mu.waiting[1:]
	return r, true
}

// tell gives one result to whoever wants it. A panic there concerns this result
// only.
func (p *Prober) tell(r Result) {
	p.cfg.Result(r)
}
