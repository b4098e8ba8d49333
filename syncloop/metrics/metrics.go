package metrics

import (
	"cmp"
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/syncloop/node"
)

// Config configures Metrics. The zero value is for the only node of a process.
type Config struct {
	// Node is the value of the label "node", for several nodes in one process. If it is empty the metrics have
	// no such label, as in the kubelet.
	Node string
	// Clock is the time; nil is the clock of the instrumented node.Config.
	Clock clock.PassiveClock
}

// Metrics are the metrics of one node. It is a prometheus.Collector. Its methods are safe for concurrent use,
// except Instrument and Observe.
type Metrics struct {
	clock clock.PassiveClock
	all   []prometheus.Collector
	pods  trackedPods

	workers  workers
	starts   startMetrics
	actions  actions
	observer observer
	probes   probes
	statuses statuses
	loop     loop
	calls    calls
	server   apiServer
	requests requests
	lazy     lazyMetrics
}

// New creates the metrics of a node. It starts no goroutine.
func New(config Config) *Metrics {
	f := &factory{}
	if config.Node != "" {
		f.labels = prometheus.Labels{"node": config.Node}
	}
	m := &Metrics{clock: config.Clock}
	m.workers.createDescriptionsAndAddToCollectors(f)
	m.starts = newStartMetrics(f)
	m.actions = newActionMetrics(f)
	m.observer = newPLEGMetrics(f)
	m.probes = newProbeMetrics(f)
	m.statuses = newStatusMetrics(f)
	m.loop = newLoopMetrics(f)
	m.calls = newRuntimeCallMetrics(f)
	m.server = newAPIServerMetrics(f)
	m.requests = newRequestMetrics(f, cmp.Or[clock.PassiveClock](config.Clock, clock.RealClock{}))
	m.lazy.createDescriptions(f)
	m.all = f.collectors
	return m
}

// Instrument adds the hooks of the metrics to the configuration of a node. Call it once, before node.New. An
// existing hook is called before the added one.
func (m *Metrics) Instrument(config *node.Config) {
	if m.clock == nil {
		m.clock = cmp.Or[clock.PassiveClock](config.Clock, clock.RealClock{})
	}
	h := &config.Hooks.Workers
	h.Phase = chainHooks3(h.Phase, m.workers.countPhase)
	h.Forgotten = chainHooks(h.Forgotten, m.removePod)
	h.Synced = chainHooks(h.Synced, m.workers.recordSync)
	h.Panicked = chainHooks2(h.Panicked, m.loop.countPanic)
	p := &config.Hooks
	p.Status = chainHooks2(p.Status, m.recordStartMetricsOfStatus)
	p.Rejected = chainHooks3(p.Rejected, m.loop.countRejection)
	m.instrumentParts(p)
}

// instrumentParts adds functions that update the metrics to hooks of the parts of a node. A hook that is set
// already is called before the function.
func (m *Metrics) instrumentParts(p *node.Hooks) {
	p.Sources.Rejected = chainHooks3(p.Sources.Rejected, m.loop.countInvalidPod)
	p.Sources.Failed = chainHooks2(p.Sources.Failed, m.loop.countSourceError)
	p.Statuses.Accepted = chainHooks2(p.Statuses.Accepted, m.statuses.countAccepted)
	p.Statuses.Unchanged = chainHooks(p.Statuses.Unchanged, m.statuses.countUnchanged)
	p.Statuses.Refused = chainHooks2(p.Statuses.Refused, m.statuses.countRefused)
	p.Sender.Sent = chainHooks2(p.Sender.Sent, m.recordSentStatus)
	p.Sender.Failed = chainHooks3(p.Sender.Failed, m.statuses.countSendFailure)
	p.PLEG.Relisted = chainHooks(p.PLEG.Relisted, m.recordRelist)
	p.PLEG.Inspected = chainHooks(p.PLEG.Inspected, m.observer.recordInspection)
	p.PLEG.StreamEnded = chainHooks2(p.PLEG.StreamEnded, m.observer.countStreamEnd)
	p.Prober.Probed = chainHooks(p.Prober.Probed, m.recordProbe)
	p.Prober.Resumed = chainHooks(p.Prober.Resumed, m.loop.countInterruption)
	p.Syncer.ActionDone = chainHooks(p.Syncer.ActionDone, m.recordAction)
	p.Syncer.OOMKilled = chainHooks(p.Syncer.OOMKilled, m.actions.countOOMKill)
	p.Syncer.RestartDelayed = chainHooks(p.Syncer.RestartDelayed, m.actions.countCrashLoopWait)
	p.Syncer.ImagePulled = chainHooks(p.Syncer.ImagePulled, m.observePullAndStoreSpanForStart)
	p.Images.Pulled = chainHooks(p.Images.Pulled, m.actions.countPull)
	p.Evictor.Evicted = chainHooks(p.Evictor.Evicted, m.actions.countEviction)
	p.Loop.Cleanup = chainHooks2(p.Loop.Cleanup, m.loop.recordHousekeeping)
	p.Loop.Panicked = chainHooks2(p.Loop.Panicked, m.loop.countPanic)
}

// Observe sets the node whose current state each scrape reads, such as the number of its desired pods. Call it
// once, after node.New.
func (m *Metrics) Observe(n *node.Node) { m.lazy.node.Store(n) }

// NodeStats returns the stats of the observed node, or an error before Observe. It makes Metrics a
// node.StatsReader for a program that serves before it has its node.
func (m *Metrics) NodeStats(ctx context.Context) (node.NodeStats, error) {
	n := m.lazy.node.Load()
	if n == nil {
		return node.NodeStats{}, errNoNode
	}
	return n.Containers().NodeStats(ctx)
}

var errNoNode = errors.New("metrics: Observe has not been called")

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all {
		c.Describe(ch)
	}
	m.lazy.describe(ch)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all {
		c.Collect(ch)
	}
	m.lazy.collect(ch)
}

// WorkerHooks returns hooks for podworkers.Workers that belong to no node.
func (m *Metrics) WorkerHooks() podworkers.Hooks {
	return podworkers.Hooks{Phase: m.workers.countPhase, Forgotten: m.removePod, Synced: m.workers.recordSync, Panicked: m.loop.countPanic}
}

// chainHooks returns a hook that calls first, unless it is nil, and then second.
func chainHooks[A any](first, second func(A)) func(A) {
	if first == nil {
		return second
	}
	return func(a A) { first(a); second(a) }
}

// chainHooks2 returns a hook with two arguments that calls first, unless it is nil, and then second.
func chainHooks2[A, B any](first, second func(A, B)) func(A, B) {
	if first == nil {
		return second
	}
	return func(a A, b B) { first(a, b); second(a, b) }
}

// chainHooks3 returns a hook with three arguments that calls first, unless it is nil, and then second.
func chainHooks3[A, B, C any](first, second func(A, B, C)) func(A, B, C) {
	if first == nil {
		return second
	}
	return func(a A, b B, c C) { first(a, b, c); second(a, b, c) }
}
