package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/contact"
	"github.com/podkeel/podkeel/syncloop/cluster/feed"
	"github.com/podkeel/podkeel/syncloop/cluster/internal/objects"
	"github.com/podkeel/podkeel/syncloop/cluster/mirror"
	"github.com/podkeel/podkeel/syncloop/cluster/nodeagent"
	"github.com/podkeel/podkeel/syncloop/cluster/statussink"
	"github.com/podkeel/podkeel/syncloop/events"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// Config is what a joined node is made of. Server is required.
type Config struct {
	// Server is the API server, as this node: the client of package client, or one of
	// package apiservertest.
	Server apiserver.Server
	// Node is the node itself. Its Name, Labels, Taints, Capacity and HostIPs are what it
	// registers with; without HostIPs pods are told the addresses of the node at the API
	// server. Sources are those of static pods, and none of them may be named api. Its Sink,
	// View, Objects, Services, RuntimeClass, Tokens, Claims and Recorder are the cluster's,
	// where they are nil. So is the Runtime, which is in memory then; a runtime in memory
	// gets volumes in memory. Its MaxSends is DefaultMaxSends, where it is zero.
	Node node.Config
	// Volumes makes the volumes and files of the node, given Node with the Objects, Tokens
	// and Claims of the API server. It is called once, by New, unless Node.Volumes is set.
	// Nil, with a runtime that is not in memory: pods with volumes stay Pending, and an API
	// server gives nearly every pod one, the token of its service account. Package volumes has
	// them on a directory.
	Volumes func(node.Config) (podsync.Volumes, podsync.Files, error)
	// Info describes the system to the API server. What is empty is filled in.
	Info v1.NodeSystemInfo
	// LocalIPs finds the addresses of the node, primary first, where Node.HostIPs has none: they may
	// change while the node runs. It is called by one goroutine, every 10 s, and may block until ctx
	// ends, which is after 2 s. While it finds none, those that it has found last count, or those that
	// the node has at the API server, as of a cloud, or 127.0.0.1. Nil finds none.
	LocalIPs func(ctx context.Context) []string
	// Port is where the program serves the Handler; zero is nowhere: kubectl logs, exec, attach
	// and port-forward do not work then. Kubelets have 10250.
	Port int32
	// ProviderID is the node's at its cloud; empty: none.
	ProviderID string
	// Features are the declared features: what this program implements of what schedulers
	// and API servers ask for. Nil: none.
	Features []string
	// Metrics answers /metrics of the Handler, and ResourceMetrics /metrics/resource: package
	// metrics has both. What is nil is answered with 501.
	Metrics, ResourceMetrics http.Handler
	// Configuration returns the effective configuration, which the Handler serves at /configz: see
	// server.Config. Nil: the path is answered with 501.
	Configuration func() any
	// AgentHooks are called, after what the node does itself, with what becomes of the node's
	// object and lease.
	AgentHooks nodeagent.Hooks
}

// Node is a node that is joined to an API server. Make one with New.
type Node struct {
	config   Config
	executor executor.Executor
	guard    *contain.Guard
	contact  *contact.Contact
	node     *node.Node
	agent    *nodeagent.Agent
	mirrors  *mirror.Reconciler
	measure  *measure
	follows  bool // the addresses of the node at the server
	ran      atomic.Bool
	closing  atomic.Int32     // calls of Shutdown that go on
	tokens   *objects.Tokens  // nil: the Config has others
	claims   *objects.Claims  // nil: the Config has others
	objects  *objects.Objects // nil: the Config has others
	events   *events.Recorder
	runs     []func(context.Context) error

	kept struct {
		sync.Mutex
		pods map[types.UID]uint64 // whose objects are followed, with their incarnation
	}
}

// New puts a joined node together. It runs nothing and asks nothing until Run is called.
func New(config Config) (*Node, error) {
	if config.Server == nil {
		return nil, errors.New("cluster: Config.Server is nil")
	}
	if config.Node.Pods.Sources["api"] != nil {
		return nil, errors.New("cluster: Config.Node.Sources has a source named api, which is the API server's")
	}
	if config.Node.Clock == nil {
		config.Node.Clock = clock.RealClock{}
	}
	c := &Node{config: config, executor: executor.Over(config.Node.Clock), contact: contact.New(contact.Config{Clock: config.Node.Clock})}
	c.guard = contain.New(contain.Config{Package: "cluster", Clock: config.Node.Clock, Log: config.Node.Log, OnPanic: config.Node.Hooks.Workers.Panicked})
	for _, build := range []func() error{c.buildEvents, c.buildRuntime, c.buildAgent, c.buildNode, c.buildMirrors} {
		if err := build(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Shutdown drains the node in the order of priorities, for a machine that shuts down: it is
// node.Node.Drain with at least one group. It reports to the API server at once that the node is not
// ready because it is shutting down. Run sends the statuses of terminated pods until it returns: end its
// context after Shutdown.
func (c *Node) Shutdown(ctx context.Context, groups ...node.ShutdownGroup) error {
	if len(groups) == 0 {
		return errors.New("cluster: Shutdown needs a group")
	}
	c.closing.Add(1)
	c.agent.Report()
	err := c.node.Drain(ctx, node.DrainOptions{Groups: groups})
	c.closing.Add(-1) // The node itself says so by now.
	if !c.node.Health().ShuttingDown {
		c.agent.Report() // Nothing has come of it.
	}
	return err
}

// Node is the node itself, to be watched, explained or drained. It takes no pods by Apply.
func (c *Node) Node() *node.Node { return c.node }

// Object is the node as the server has shown it last, to be read only; nil if there is none.
func (c *Node) Object() *v1.Node {
	known, _ := c.agent.Node()
	return known
}

// WaitForRegistration waits until the API server has shown the node once, or until ctx ends,
// with its error. Run has to run beside it.
func (c *Node) WaitForRegistration(ctx context.Context) error {
	return c.agent.WaitForRegistration(ctx)
}

// State is what is known of the API server.
func (c *Node) State() contact.State { return c.contact.State() }

// Run runs the node until ctx ends and its last goroutine has ended, and returns the error
// of node.Run. Another call returns runtime.ErrSecondRun and runs nothing.
func (c *Node) Run(ctx context.Context) error {
	if c.ran.Swap(true) {
		return fmt.Errorf("cluster: %w", runtime.ErrSecondRun)
	}
	stop := c.contact.OnAnswer(c.retry)
	defer stop()
	endEvents := c.beside(ctx, c.events.Run)
	defer endEvents() // All others record events.
	end := c.beside(ctx, append(c.runs, c.agent.Run, c.mirrors.Run)...)
	defer end()
	return c.node.Run(ctx)
}

// retry ends all pauses: the server answers again.
func (c *Node) retry() {
	c.node.Statuses().RetryNow()
	c.agent.Retry()
	c.events.Retry()
	c.mirrors.Retry()
	if c.tokens != nil {
		c.tokens.Retry()
	}
}

// beside runs loops until end is called, which waits for them.
func (c *Node) beside(ctx context.Context, loops ...func(context.Context) error) (end func()) {
	ctx, cancel := executor.WithCancel(executor.Detach(ctx))
	group := executor.NewGroup(c.executor)
	for _, run := range loops {
		group.Go(func() { _ = run(ctx) })
	}
	return func() {
		cancel()
		group.Wait()
	}
}

// buildEvents makes what records events.
func (c *Node) buildEvents() (err error) {
	n := &c.config.Node
	c.events, err = events.New(events.Config{
		Events: c.config.Server.Events(), Host: c.config.name(), RequestDone: c.contact.Report, Clock: n.Clock, Log: n.Log,
	})
	if n.Recorder == nil {
		n.Recorder = c.events
	}
	return err
}

// buildRuntime completes what the node runs on.
func (c *Node) buildRuntime() error {
	n := &c.config.Node
	if err := c.buildObjects(); err != nil {
		return err
	}
	if n.Runtime == nil {
		n.Runtime = memory.New(memory.Config{Clock: n.Clock})
	}
	if _, simulated := n.Runtime.(*memory.Runtime); simulated && n.Volumes.Manager == nil {
		volumes := inmemory.New(inmemory.Config{Objects: n.Volumes.Objects, Tokens: n.Volumes.Tokens, Claims: n.Volumes.Claims, Allocatable: n.Scheduling.Capacity})
		n.Volumes.Manager, n.Volumes.Files = volumes, volumes
	}
	c.follows = len(n.Containers.HostIPs) == 0
	c.config.complete()
	c.measure = newMeasure(c)
	return nil
}

// buildAgent makes what keeps the node's object and lease.
func (c *Node) buildAgent() (err error) {
	n := &c.config.Node
	c.agent, err = nodeagent.New(nodeagent.Config{
		Spec: nodestatus.Spec{
			Name: n.Name, OS: c.config.Info.OperatingSystem, Arch: c.config.Info.Architecture,
			Labels: n.Scheduling.Labels, Taints: n.Scheduling.Taints, ProviderID: c.config.ProviderID,
		},
		Facts: c.measure.facts, Server: c.config.Server, Recorder: n.Recorder,
		Clock: n.Clock, Jitter: n.Jitter, Log: n.Log,
		Hooks: c.agentHooks(),
	})
	return err
}

// errDenied is that the server denies the node its own object or lease. That is an outage, and all
// pauses end when the node has its rights again.
var errDenied = apierrors.NewUnauthorized("the node has no right to its own object")

// agentHooks are the node's own, each with the one of the Config after it.
func (c *Node) agentHooks() nodeagent.Hooks {
	h := c.config.AgentHooks
	asked, changed := h.RequestDone, h.Changed
	h.RequestDone = func(err error) {
		if c.contact.Report(err); apierrors.IsForbidden(err) {
			c.contact.Report(errDenied)
		}
		if asked != nil {
			asked(err)
		}
	}
	h.Changed = func(node *v1.Node) {
		c.node.Scheduling().Recheck()
		c.mirrors.Recheck()
		if changed != nil {
			changed(node)
		}
	}
	return h
}

// buildNode makes the node, with the API server as its source and its sink.
func (c *Node) buildNode() (err error) {
	n := &c.config.Node
	var pods *feed.Pods
	sink, err := statussink.New(statussink.Config{
		Pods: c.config.Server.Pods(), Contact: c.contact, Log: n.Log,
		StatusWritten: func(pod *v1.Pod) { pods.RecordWrite(pod) },
	})
	if err != nil {
		return err
	}
	pods, err = feed.NewPods(feed.PodsConfig{
		Feed: c.config.Server.PodFeed(), NodeName: n.Name, Contact: c.contact, Gate: c.agent.WaitForRegistration, Observer: sink,
		Clock: n.Clock, Jitter: n.Jitter, Log: n.Log,
	})
	if err != nil {
		return err
	}
	sources := map[string]source.Source{"api": pods}
	for name, s := range n.Pods.Sources {
		sources[name] = s
	}
	n.Pods.Sources = sources
	if n.Statuses.Sink == nil {
		n.Statuses.Sink = sink
	}
	if n.Scheduling.View == nil {
		n.Scheduling.View = view{c.agent, c.follows}
	}
	c.hooks(n.Hooks.Workers)
	if c.node, err = node.New(*n); err != nil {
		return err
	}
	c.measure.node = c.node
	sink.SetResend(c.node.Statuses().Resend, c.node.Statuses().ResendNow)
	return nil
}

// buildMirrors makes what keeps the mirror pods.
func (c *Node) buildMirrors() (err error) {
	n := &c.config.Node
	c.mirrors, err = mirror.New(mirror.Config{
		Pods: c.node.Sources().Desired(), Server: c.config.Server.Pods(),
		Node:        c.Object,
		Terminating: c.node.Sources().StaticPodTerminating, Complete: c.node.Sources().StaticPodsComplete,
		Recorder: n.Recorder, NodeReports: true, RequestDone: c.contact.Report, Clock: n.Clock, Log: n.Log,
	})
	return err
}

// view is the node as the API server shows it.
type view struct {
	agent   *nodeagent.Agent
	follows bool // its addresses
}

// Node implements node.View.
func (v view) Node() (info node.NodeInfo) {
	known, readAt := v.agent.Node()
	if info.ReadAt = readAt; known != nil {
		info.Labels, info.Taints, info.Allocatable = known.Labels, known.Spec.Taints, known.Status.Allocatable
		if v.follows {
			info.HostIPs = nodestatus.HostIPs(known.Status.Addresses)
		}
		info.Unschedulable = known.Spec.Unschedulable
	}
	return info
}

// Refresh implements node.View.
func (v view) Refresh() { v.agent.Refresh() }
