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

// Config configures a joined node. Server is required.
type Config struct {
	// Server is the API server with the credentials of this node: package client implements it, and package
	// apiservertest for tests.
	Server apiserver.Server
	// Node configures the node itself. The node registers with its Name, Containers.HostIPs, and the Labels, Taints and
	// Capacity of Scheduling. A Node object that exists already keeps its own taints. Without HostIPs, pods get the
	// addresses of the Node object. Pods.Sources are the sources of static pods; the name api is reserved.
	//
	// New sets these fields if they are nil: Statuses.Sink, Scheduling.View, Containers.Services,
	// Containers.RuntimeClass, Recorder, and the Objects, Tokens and Claims of Volumes. They then use the API server.
	// A nil Runtime becomes an in-memory runtime, which gets in-memory volumes. A zero Statuses.MaxSends becomes
	// DefaultMaxSends.
	Node node.Config
	// Volumes makes the volumes and files of the node. New calls it once, unless Node.Volumes.Manager is set. The
	// argument is Node after New has set Volumes.Objects, Volumes.Tokens and Volumes.Claims. With a nil function and a
	// runtime that is not in memory, pods with volumes stay Pending. Nearly every pod of an API server has a volume,
	// the token of its service account. Package volumes implements volumes in a directory.
	Volumes func(node.Config) (podsync.Volumes, podsync.Files, error)
	// Info describes the system in the node status. New sets empty fields.
	Info v1.NodeSystemInfo
	// LocalIPs returns the addresses of the node, the primary one first. It is used if Node.Containers.HostIPs is empty.
	// The addresses may change while the node runs. One goroutine calls LocalIPs every 10 s with a deadline of 2 s. If
	// it returns none, the node keeps the last addresses, else the addresses of the Node object (a cloud may set them),
	// else 127.0.0.1. Nil returns none.
	LocalIPs func(ctx context.Context) []string
	// Port is the port on which the program serves the Handler. Zero: kubectl logs, exec, attach and port-forward do
	// not work. Kubelets use 10250.
	Port int32
	// ProviderID is the node's ID at its cloud; empty: none.
	ProviderID string
	// Features are the declared features of the node, which schedulers and API servers check. The Handler permits
	// ExtendWebSocketsToKubelet. Nil: none.
	Features []string
	// Metrics serves /metrics of the Handler, and ResourceMetrics /metrics/resource: package metrics has both. A nil
	// handler is answered with 501.
	Metrics, ResourceMetrics http.Handler
	// Configuration returns the effective configuration, which the Handler serves at /configz: see
	// server.Config. Nil: the path is answered with 501.
	Configuration func() any
	// AgentHooks are called for changes of the Node object and the lease, after the node's own handling.
	AgentHooks nodeagent.Hooks
}

// Node is a node that is joined to an API server. Make one with New.
type Node struct {
	config           Config
	executor         executor.Executor
	guard            *contain.Guard
	contact          *contact.Contact
	node             *node.Node
	agent            *nodeagent.Agent
	mirrors          *mirror.Reconciler
	facts            *factsCollector
	detectsAddresses bool // whether Containers.HostIPs is empty, so that the node detects its addresses
	ran              atomic.Bool
	shutdownCalls    atomic.Int32     // running calls of Shutdown
	tokens           *objects.Tokens  // nil: Config.Node has other Tokens
	claims           *objects.Claims  // nil: Config.Node has other Claims
	objects          *objects.Objects // nil: Config.Node has other Objects
	events           *events.Recorder
	loops            []func(context.Context) error

	followed struct {
		sync.Mutex
		pods map[types.UID]uint64 // incarnation of each pod whose objects are followed
	}
}

// New assembles a joined node. It starts no goroutine and sends no request before Run.
func New(config Config) (*Node, error) {
	if config.Server == nil {
		return nil, errors.New("cluster: Config.Server is nil")
	}
	if config.Node.Pods.Sources["api"] != nil {
		return nil, errors.New("cluster: Config.Node.Pods.Sources has a source named api, which is the API server's")
	}
	if config.Node.Clock == nil {
		config.Node.Clock = clock.RealClock{}
	}
	c := &Node{config: config, executor: executor.Over(config.Node.Clock), contact: contact.New(contact.Config{Clock: config.Node.Clock})}
	c.guard = contain.New(contain.Config{Package: "cluster", Clock: config.Node.Clock, Log: config.Node.Log, OnPanic: config.Node.Hooks.Workers.Panicked})
	for _, build := range []func() error{c.buildEventRecorder, c.buildObjectsAndRuntime, c.buildAgent, c.buildNode, c.buildMirrorReconciler} {
		if err := build(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Shutdown drains the node in the order of pod priorities, for a machine that shuts down. It is node.Node.Drain with at
// least one group. It reports at once that the node is not ready because it is shutting down. Run sends the statuses of
// terminated pods until it returns, so cancel its context after Shutdown.
func (c *Node) Shutdown(ctx context.Context, groups ...node.ShutdownGroup) error {
	if len(groups) == 0 {
		return errors.New("cluster: Shutdown needs a group")
	}
	c.shutdownCalls.Add(1)
	c.agent.RequestStatusUpdate()
	err := c.node.Drain(ctx, node.DrainOptions{Groups: groups})
	c.shutdownCalls.Add(-1) // The node reports ShuttingDown itself now.
	if !c.node.Health().ShuttingDown {
		c.agent.RequestStatusUpdate() // The drain was refused.
	}
	return err
}

// Node returns the node itself, to watch, explain or drain it. Its Apply accepts no pods.
func (c *Node) Node() *node.Node { return c.node }

// Object returns the newest Node object from the server, or nil if none exists. The caller must not change it.
func (c *Node) Object() *v1.Node {
	known, _ := c.agent.Node()
	return known
}

// WaitForRegistration waits until the node is registered for the first time, which means that the server has returned
// its Node object. It returns the error of ctx. Run must run concurrently.
func (c *Node) WaitForRegistration(ctx context.Context) error {
	return c.agent.WaitForRegistration(ctx)
}

// State returns the observed availability of the API server.
func (c *Node) State() contact.State { return c.contact.State() }

// Run runs the node until ctx is done and all goroutines have returned. It returns the error of node.Run. A second call
// returns runtime.ErrSecondRun.
func (c *Node) Run(ctx context.Context) error {
	if c.ran.Swap(true) {
		return fmt.Errorf("cluster: %w", runtime.ErrSecondRun)
	}
	stop := c.contact.OnOutageEnd(c.retryAfterOutage)
	defer stop()
	endEvents := c.runInBackground(ctx, c.events.Run)
	defer endEvents() // The recorder stops last, because all other loops record events.
	end := c.runInBackground(ctx, append(c.loops, c.agent.Run, c.mirrors.Run)...)
	defer end()
	return c.node.Run(ctx)
}

// retryAfterOutage makes the status sender, the agent, the event recorder, the mirror reconciler and the tokens
// retry now. Feeds and followed objects need no call, because they wait on c.contact themselves.
func (c *Node) retryAfterOutage() {
	c.node.Statuses().RetryNow()
	c.agent.Retry()
	c.events.Retry()
	c.mirrors.Retry()
	if c.tokens != nil {
		c.tokens.Retry()
	}
}

// runInBackground runs each loop in its own goroutine until stop is called, also if ctx is canceled before.
// stop waits until the loops have returned.
func (c *Node) runInBackground(ctx context.Context, loops ...func(context.Context) error) (stop func()) {
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

// buildEventRecorder makes the recorder that sends events to the API server. The node uses it unless the
// configuration has another recorder.
func (c *Node) buildEventRecorder() (err error) {
	n := &c.config.Node
	c.events, err = events.New(events.Config{
		Events: c.config.Server.Events(), Host: c.config.nodeName(), RequestDone: c.contact.Report, Clock: n.Clock, Log: n.Log,
	})
	if n.Recorder == nil {
		n.Recorder = c.events
	}
	return err
}

// buildObjectsAndRuntime makes the objects that pods refer to, a simulated runtime if the configuration has
// none, and in-memory volumes if the runtime is simulated and the configuration has no volumes. It then sets
// the other defaults and makes the facts collector.
func (c *Node) buildObjectsAndRuntime() error {
	n := &c.config.Node
	if err := c.buildMissingObjectSources(); err != nil {
		return err
	}
	if n.Runtime == nil {
		n.Runtime = memory.New(memory.Config{Clock: n.Clock})
	}
	if _, simulated := n.Runtime.(*memory.Runtime); simulated && n.Volumes.Manager == nil {
		volumes := inmemory.New(inmemory.Config{Objects: n.Volumes.Objects, Tokens: n.Volumes.Tokens, Claims: n.Volumes.Claims, Allocatable: n.Allocatable()})
		n.Volumes.Manager, n.Volumes.Files = volumes, volumes
	}
	c.detectsAddresses = len(n.Containers.HostIPs) == 0
	c.config.setDefaultsAndNormalizeName()
	c.facts = newFactsCollector(c)
	return nil
}

// buildAgent makes the agent that registers the Node object and updates its status and its lease.
func (c *Node) buildAgent() (err error) {
	n := &c.config.Node
	c.agent, err = nodeagent.New(nodeagent.Config{
		Spec: nodestatus.Spec{
			Name: n.Name, OS: c.config.Info.OperatingSystem, Arch: c.config.Info.Architecture,
			Labels: n.Scheduling.Labels, Taints: n.Scheduling.Taints, ProviderID: c.config.ProviderID,
		},
		Facts: c.facts.collectFacts, Server: c.config.Server, Recorder: n.Recorder,
		Clock: n.Clock, Jitter: n.Jitter, Log: n.Log,
		Hooks: c.agentHooks(),
	})
	return err
}

// errDenied is reported if the server denies the node access to its own object or lease. It counts as an outage, so
// that all pauses end when the node has its rights again.
var errDenied = apierrors.NewUnauthorized("the node has no right to its own object")

// agentHooks returns the hooks of the agent. RequestDone reports the result to the contact, and counts a
// forbidden request as an outage. Changed makes the node check its scheduling and its mirror pods again. Both
// then call the hook of Config.AgentHooks.
func (c *Node) agentHooks() nodeagent.Hooks {
	h := c.config.AgentHooks
	userRequestDone, userChanged := h.RequestDone, h.Changed
	h.RequestDone = func(err error) {
		if c.contact.Report(err); apierrors.IsForbidden(err) {
			c.contact.Report(errDenied)
		}
		if userRequestDone != nil {
			userRequestDone(err)
		}
	}
	h.Changed = func(node *v1.Node) {
		c.node.Scheduling().Recheck()
		c.mirrors.Recheck()
		if userChanged != nil {
			userChanged(node)
		}
	}
	return h
}

// buildNode makes the node, with the API server as the pod source named api. It also makes the status sink and
// the scheduling view that the node uses unless the configuration has others.
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
		n.Scheduling.View = nodeView{c.agent, c.detectsAddresses}
	}
	c.installPodHooks(n.Hooks.Workers)
	if c.node, err = node.New(*n); err != nil {
		return err
	}
	c.facts.node = c.node
	sink.SetResend(c.node.Statuses().Resend, c.node.Statuses().ResendNow)
	return nil
}

// buildMirrorReconciler makes the reconciler that creates and deletes mirror pods. It needs the node of
// buildNode.
func (c *Node) buildMirrorReconciler() (err error) {
	n := &c.config.Node
	c.mirrors, err = mirror.New(mirror.Config{
		Pods: c.node.Sources().Desired(), Server: c.config.Server.Pods(),
		Node:        c.Object,
		Terminating: c.node.Sources().StaticPodTerminating, Complete: c.node.Sources().StaticPodsComplete,
		Recorder: n.Recorder, NodeReports: true, RequestDone: c.contact.Report, Clock: n.Clock, Log: n.Log,
	})
	return err
}

// nodeView reads the Node object of the API server for admission.
type nodeView struct {
	agent            *nodeagent.Agent
	detectsAddresses bool // whether HostIPs come from the Node object
}

// Node implements node.View.
func (v nodeView) Node() (info node.NodeInfo) {
	known, readAt := v.agent.Node()
	if info.ReadAt = readAt; known != nil {
		info.Labels, info.Taints, info.Allocatable = known.Labels, known.Spec.Taints, known.Status.Allocatable
		if v.detectsAddresses {
			info.HostIPs = nodestatus.HostIPs(known.Status.Addresses)
		}
		info.Unschedulable = known.Spec.Unschedulable
	}
	return info
}

// Refresh implements node.View.
func (v nodeView) Refresh() { v.agent.Refresh() }
