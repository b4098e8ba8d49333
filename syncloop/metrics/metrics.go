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

// Config is what New may be told. The zero value is for the only node of a process.
type Config struct {
	// Node is the value of the label "node" that tells the nodes of a process apart; empty:
	// the metrics have no such label, as those of a kubelet.
	Node string
	// Clock is the time; nil is that of the node.Config that is instrumented.
	Clock clock.PassiveClock
}

// Metrics are the metrics of one node. It is a prometheus.Collector. Its methods are safe for
// concurrent use, but for Instrument and Observe.
type Metrics struct {
	clock clock.PassiveClock
	all   []prometheus.Collector
	pods  pods

	workers  workers
	starts   starts
	actions  actions
	observer observer
	probes   probes
	statuses statuses
	loop     loop
	calls    calls
	server   apiServer
	requests requests
	current  current
}

// New makes the metrics of a node. It starts nothing.
func New(config Config) *Metrics {
	f := &factory{}
	if config.Node != "" {
		f.labels = prometheus.Labels{"node": config.Node}
	}
	m := &Metrics{clock: config.Clock}
	m.workers.init(f)
	m.starts = newStarts(f)
	m.actions = newActions(f)
	m.observer = newObserver(f)
	m.probes = newProbes(f)
	m.statuses = newStatuses(f)
	m.loop = newLoop(f)
	m.calls = newCalls(f)
	m.server = newAPIServer(f)
	m.requests = newRequests(f, cmp.Or[clock.PassiveClock](config.Clock, clock.RealClock{}))
	m.current.init(f)
	m.all = f.made
	return m
}

// Instrument puts the hooks of the metrics into the configuration of a node, before node.New.
// Each is called after the one that is there. Call it once.
func (m *Metrics) Instrument(config *node.Config) {
	if m.clock == nil {
		m.clock = cmp.Or[clock.PassiveClock](config.Clock, clock.RealClock{})
	}
	h := &config.Hooks.Workers
	h.Phase = after3(h.Phase, m.workers.phase)
	h.Forgotten = after(h.Forgotten, m.forgotten)
	h.Synced = after(h.Synced, m.workers.synced)
	h.Panicked = after2(h.Panicked, m.loop.panicked)
	p := &config.Hooks
	p.Status = after2(p.Status, m.status)
	p.Rejected = after3(p.Rejected, m.loop.rejected)
	m.instrumentParts(p)
}

func (m *Metrics) instrumentParts(p *node.Hooks) {
	p.Sources.Rejected = after3(p.Sources.Rejected, m.loop.sourceRejected)
	p.Sources.Failed = after2(p.Sources.Failed, m.loop.sourceFailed)
	p.Statuses.Accepted = after2(p.Statuses.Accepted, m.statuses.accepted)
	p.Statuses.Unchanged = after(p.Statuses.Unchanged, m.statuses.unchanged)
	p.Statuses.Refused = after2(p.Statuses.Refused, m.statuses.refused)
	p.Sender.Sent = after2(p.Sender.Sent, m.sent)
	p.Sender.Failed = after3(p.Sender.Failed, m.statuses.failed)
	p.PLEG.Relisted = after(p.PLEG.Relisted, m.relisted)
	p.PLEG.Inspected = after(p.PLEG.Inspected, m.observer.inspected)
	p.PLEG.StreamEnded = after2(p.PLEG.StreamEnded, m.observer.streamEnded)
	p.Prober.Probed = after(p.Prober.Probed, m.probed)
	p.Prober.Resumed = after(p.Prober.Resumed, m.loop.resumed)
	p.Syncer.ActionDone = after(p.Syncer.ActionDone, m.did)
	p.Syncer.RestartDelayed = after(p.Syncer.RestartDelayed, m.actions.held)
	p.Syncer.ImagePulled = after(p.Syncer.ImagePulled, m.imagePulled)
	p.Images.Pulled = after(p.Images.Pulled, m.actions.pulled)
	p.Loop.Cleanup = after2(p.Loop.Cleanup, m.loop.cleanup)
	p.Loop.Panicked = after2(p.Loop.Panicked, m.loop.panicked)
}

// Observe has the metrics show what a node answers when it is asked: how many pods it wants and
// what runs. Call it once, after node.New.
func (m *Metrics) Observe(n *node.Node) { m.current.node.Store(n) }

// NodeStats is that of the node that is observed; before Observe there is none. It makes Metrics a
// node.StatsReader for a program that serves before it has its node.
func (m *Metrics) NodeStats(ctx context.Context) (node.NodeStats, error) {
	n := m.current.node.Load()
	if n == nil {
		return node.NodeStats{}, errUnobserved
	}
	return n.Containers().NodeStats(ctx)
}

var errUnobserved = errors.New("metrics: Observe has not been called")

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all {
		c.Describe(ch)
	}
	m.current.describe(ch)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all {
		c.Collect(ch)
	}
	m.current.collect(ch)
}

// WorkerHooks are hooks for podworkers.Workers that belong to no node.
func (m *Metrics) WorkerHooks() podworkers.Hooks {
	return podworkers.Hooks{Phase: m.workers.phase, Forgotten: m.forgotten, Synced: m.workers.synced, Panicked: m.loop.panicked}
}

// after calls a hook that was there, if there was one, and then another one.
func after[A any](first, second func(A)) func(A) {
	if first == nil {
		return second
	}
	return func(a A) { first(a); second(a) }
}

func after2[A, B any](first, second func(A, B)) func(A, B) {
	if first == nil {
		return second
	}
	return func(a A, b B) { first(a, b); second(a, b) }
}

func after3[A, B, C any](first, second func(A, B, C)) func(A, B, C) {
	if first == nil {
		return second
	}
	return func(a A, b B, c C) { first(a, b, c); second(a, b, c) }
}
