package syncloop

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// ProbeKind is what a probe asks.
type ProbeKind uint8

// The kinds of probes.
const (
	// Liveness asks whether the container should be restarted.
	Liveness ProbeKind = iota
	// Readiness asks whether it may get traffic.
	Readiness
	// Startup asks whether it has finished starting.
	Startup
)

// ProbeResult is the newest verdict of one probe of one container.
type ProbeResult struct {
	// UID of the pod.
	UID types.UID
	// ContainerID is written as in the pod's status.
	ContainerID string
	// Probe says which of the container's probes it is.
	Probe ProbeKind
	// Success is the verdict.
	Success bool
}

// probeKey: results of the same probe of the same container replace each other.
type probeKey struct {
	uid         types.UID
	containerID string
	probe       ProbeKind
}

// probeResults keeps the newest result per probe until the loop takes it. It
// holds at most one entry per probe, so it can neither overflow nor block.
type probeResults struct {
	wake func()
	mu   struct {
		sync.Mutex
		newest map[probeKey]bool
		order  []probeKey
	}
}

// AddProbeResult tells the loop a probe's verdict. It never blocks and may be called
// from anywhere; of several for one probe the newest counts.
func (l *Loop) AddProbeResult(r ProbeResult) { l.probes.add(r) }

func (p *probeResults) add(r ProbeResult) {
	key := probeKey{r.UID, r.ContainerID, r.Probe}
	p.mu.Lock()
	if p.mu.newest == nil {
		p.mu.newest = make(map[probeKey]bool)
	}
	if _, waiting := p.mu.newest[key]; !waiting {
		p.mu.order = append(p.mu.order, key)
	}
	p.mu.newest[key] = r.Success
	p.mu.Unlock()
	p.wake()
}

func (p *probeResults) takeAll() []ProbeResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.mu.order) == 0 {
		return nil
	}
	results := make([]ProbeResult, 0, len(p.mu.order))
	for _, key := range p.mu.order {
		results = append(results, ProbeResult{key.uid, key.containerID, key.probe, p.mu.newest[key]})
	}
	clear(p.mu.newest)
	p.mu.order = p.mu.order[:0]
	return results
}

// handleProbeResults acts on verdicts (SL-12, SL-13): a liveness success changes nothing,
// the other two are first written down and then acted on. Written down also for
// a pod that is desired no more: it may still run, and be ready or not.
func (l *Loop) handleProbeResults(ctx context.Context) {
	for _, r := range l.probes.takeAll() {
		switch {
		case r.Probe == Liveness && r.Success:
			continue
		case r.Probe == Readiness && l.config.Readiness != nil:
			l.config.Readiness.SetContainerReadiness(r.UID, r.ContainerID, r.Success)
		case r.Probe == Startup && l.config.Readiness != nil:
			l.config.Readiness.SetContainerStartup(r.UID, r.ContainerID, r.Success)
		}
		l.syncPod(ctx, r.UID)
	}
}
