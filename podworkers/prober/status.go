package prober

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// UpdatePodStatus sets Started and Ready of every init and regular container in a new status. The
// caller calls it after AddPod and before it stores the status. If a running container has started
// and its first readiness verdict is pending, UpdatePodStatus makes the readiness probe due, at most
// once a second and not before the first attempt. If the pod was never added, containers with a
// startup probe have not started, and containers with a readiness probe are not ready.
func (p *Prober) UpdatePodStatus(spec *v1.Pod, status *v1.PodStatus) {
	now := p.executor.Now()
	p.mu.Lock()
	known := p.mu.pods[spec.UID]
	if known != nil && known.spec == nil {
		known = nil // Only observed, not added.
	}
	for i := range status.ContainerStatuses {
		s := &status.ContainerStatuses[i]
		p.setReadinessLocked(known, podspec.RegularContainer(spec, s.Name), podstatus.RoleLasting, s, now)
	}
	for i := range status.InitContainerStatuses {
		s := &status.InitContainerStatuses[i]
		c, role := podspec.InitContainer(spec, s.Name), podstatus.RoleLasting
		if c != nil && !podspec.IsSidecar(c) {
			role = podstatus.RoleInit // PR-17
		}
		p.setReadinessLocked(known, c, role, s, now)
	}
	p.unlockAndDeliverResults()
}

// setReadinessLocked sets Started and Ready in the status of a container from the verdicts of its probes. If
// the pod is not known to the Prober, a container with a startup probe is not started, and a container with a
// readiness probe is not ready. If a running container has started and is not ready, it also makes the
// readiness probe due soon. spec is nil if the pod has no such container.
func (p *Prober) setReadinessLocked(known *pod, spec *v1.Container, role podstatus.ContainerRole, s *v1.ContainerStatus, now time.Time) {
	started, ready := true, true
	switch c := known.findContainer(s.Name); {
	case c != nil:
		started, ready = c.state.Started(s.ContainerID), c.state.Ready(s.ContainerID)
		if s.State.Running != nil && started && !ready {
			c.state.MakeReadinessDue(now)
			p.queueResultsAndRescheduleLocked(c, nil, "")
		}
	case known == nil && spec != nil:
		started, ready = spec.StartupProbe == nil, spec.ReadinessProbe == nil
	}
	podstatus.SetProbed(role, s, started, ready)
}

// resultQueue delivers results in order and one at a time, without a lock and without its own
// goroutine. The first caller of deliverAll delivers all results, also those that others add
// meanwhile. A result that is added during a delivery waits for its turn.
type resultQueue struct {
	mu struct {
		sync.Mutex
		waiting []Result
		busy    bool
	}
}

// addResult appends a result to the queue. The lock of the Prober, which the caller holds, keeps the results in
// order.
func (o *resultQueue) addResult(r Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.waiting = append(o.mu.waiting, r)
}

// deliverAll calls handle for each queued result in order, until the queue is empty. If another caller delivers
// at the moment, it returns at once, and that caller delivers the results.
func (o *resultQueue) deliverAll(handle func(Result)) {
	for mine := false; ; mine = true {
		r, ok := o.takeNextUnlessBusy(mine)
		if !ok {
			return
		}
		handle(r)
	}
}

// takeNextUnlessBusy removes the oldest result from the queue and returns it. It returns false if the queue is
// empty. It also returns false if another caller delivers at the moment. isDelivering is true if this caller
// has already begun to deliver.
func (o *resultQueue) takeNextUnlessBusy(isDelivering bool) (next Result, taken bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.busy && !isDelivering {
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

// deliverResult passes a result to Config.Result, which is wrapped against panics.
func (p *Prober) deliverResult(r Result) {
	p.cfg.Result(r)
}
