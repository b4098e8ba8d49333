package syncloop

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// ProbeKind is a kind of probe.
type ProbeKind uint8

// The kinds of probes.
const (
	// Liveness decides whether the container is restarted.
	Liveness ProbeKind = iota
	// Readiness decides whether the container gets traffic.
	Readiness
	// Startup decides whether the container has started.
	Startup
)

// ProbeResult is the newest result of one probe of one container.
type ProbeResult struct {
	// UID of the pod.
	UID types.UID
	// ContainerID is written as in the pod's status.
	ContainerID string
	// Probe is the kind of the probe.
	Probe ProbeKind
	// Success is true if the probe succeeded.
	Success bool
}

// probeKey identifies a probe of a container. A newer result replaces an older one with the same key.
type probeKey struct {
	uid         types.UID
	containerID string
	probe       ProbeKind
}

// probeResults holds the newest result of each probe until the loop handles it. It has at most one entry for
// each probe, so it is bounded and never blocks.
type probeResults struct {
	wake func()
	mu   struct {
		sync.Mutex
		newest map[probeKey]bool
		order  []probeKey
	}
}

// AddProbeResult stores a probe result for the next step. A newer result of the same probe replaces an older
// one. It never blocks, and any goroutine may call it.
func (l *Loop) AddProbeResult(r ProbeResult) { l.probes.storeResultAndWakeLoop(r) }

// storeResultAndWakeLoop stores a probe result and wakes the loop. The result replaces an earlier one of the
// same probe and container that the loop has not handled yet.
func (p *probeResults) storeResultAndWakeLoop(r ProbeResult) {
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

// takeAll returns the newest result of each probe and removes all of them. The results are in the order in
// which the probes first reported. It returns nil if there are none.
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

// storeProbeResultsAndSyncPods takes the new probe results, stores readiness and startup results, and syncs
// their pods (SL-12, SL-13). A failed liveness probe only causes a sync; a successful one has no effect. A
// result is stored even if the pod is no longer desired, but only desired pods are synced.
func (l *Loop) storeProbeResultsAndSyncPods(ctx context.Context) {
	for _, r := range l.probes.takeAll() {
		switch {
		case r.Probe == Liveness && r.Success:
			continue
		case r.Probe == Readiness && l.config.Readiness != nil:
			l.config.Readiness.SetContainerReadiness(r.UID, r.ContainerID, r.Success)
		case r.Probe == Startup && l.config.Readiness != nil:
			l.config.Readiness.SetContainerStartup(r.UID, r.ContainerID, r.Success)
		}
		l.syncPodIfDesired(ctx, r.UID)
	}
}
