package clustertest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
	"github.com/podkeel/podkeel/syncloop/node"
)

// registrationTimeout is the time in which each node must register. readyTimeout is the time after the last registration
// in which Start waits for ready nodes.
const (
	registrationTimeout = time.Minute
	readyTimeout        = 10 * time.Second
)

// Config configures the nodes of a test. Server is required.
type Config struct {
	// Server is the configuration of a client with all rights.
	Server *rest.Config
	// Nodes is the number of nodes; zero means one.
	Nodes int
	// Prefix is followed by the number of the node in its name. Empty means "node-".
	Prefix string
	// Binding decides whether pods are bound to the nodes. Zero means BindWithoutScheduler.
	Binding Binding
	// Tainting decides whether the taints of the nodes follow their conditions, as with the node lifecycle controller.
	// Zero means TaintWithoutController.
	Tainting Tainting
	// Configure, if set, may change the configuration of each node right before the node is made. The default capacity
	// of a node is 4 cpus, 8 GiB of memory and 110 pods.
	Configure func(*cluster.Config)
}

// Binding decides which component binds pods to nodes.
type Binding uint8

const (
	// BindWithoutScheduler binds pods if no scheduler holds its lease at the time of Start.
	BindWithoutScheduler Binding = iota
	// BindAlways binds pods in any case.
	BindAlways
	// BindNever leaves the binding to a scheduler or to the test.
	BindNever
)

// Nodes are the nodes of a test. Only the goroutine of the test calls its methods.
type Nodes struct {
	t       testing.TB
	config  Config
	all     []*Node
	connect func(name string) (apiserver.Server, error)
	admin   *admin
	binder  *binder
}

// StartNodes joins n simulated nodes to the API server and stops them at the end of the test. It is Start with only
// these two fields of the Config.
func StartNodes(t testing.TB, server *rest.Config, n int) *Nodes {
	t.Helper()
	return Start(t, Config{Server: server, Nodes: n})
}

// Start joins simulated nodes to the API server and stops them at the end of the test. It returns when all nodes are
// registered. It fails the test if a node is not registered within a minute, or if the Config is invalid.
func Start(t testing.TB, config Config) *Nodes {
	t.Helper()
	if config.Server == nil {
		t.Fatal("clustertest: Config.Server is nil: it is the rest.Config of a client with all rights")
	}
	config.Nodes, config.Prefix = max(config.Nodes, 1), cmp.Or(config.Prefix, "node-")
	ns := &Nodes{t: t, config: config}
	ns.binder = newBinder(ns)
	var err error
	if ns.admin, err = newAdmin(config.Server); err != nil {
		t.Fatalf("clustertest: %v", err)
	}
	t.Cleanup(ns.admin.closeIdleConnections)
	if err := ns.connectNodes(); err != nil {
		t.Fatalf("clustertest: %v", err)
	}
	for i := range config.Nodes {
		n := &Node{nodes: ns, name: fmt.Sprint(config.Prefix, i), machine: memory.New(memory.Config{}), changed: ns.binder.executor.NewEvent()}
		ns.all = append(ns.all, n)
		t.Cleanup(n.Stop)
		n.Start()
	}
	for _, n := range ns.all {
		n.waitForRegistration()
	}
	deadline := time.Now().Add(readyTimeout)
	for _, n := range ns.all {
		n.waitUntilReady(deadline)
	}
	ns.startTainter()
	ns.startBinder()
	return ns
}

// isLeaseHeld reports whether a program of the control plane holds its lease. It fails the test if the lease cannot be
// read within a minute.
func (ns *Nodes) isLeaseHeld(name string) bool {
	ns.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), registrationTimeout)
	defer cancel()
	held, err := ns.admin.holdsLease(ctx, name)
	if err != nil {
		ns.t.Fatalf("clustertest: cannot read the lease %s: %v", name, err)
	}
	return held
}

// runUntilTestEnds starts each function on its own goroutine. At the end of the test it cancels their context and waits
// for them.
func (ns *Nodes) runUntilTestEnds(functions ...func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, f := range functions {
		group.Go(func() { f(ctx) })
	}
	ns.t.Cleanup(func() {
		cancel()
		group.Wait()
	})
}

// newInformer returns an informer of all objects of a kind. Its errors go to the log of the test and not to the handler
// of client-go. That handler waits after each error, and all tests of the process share the time of its last error. The
// clock of a testing/synctest bubble begins in the year 2000, so that the wait after an error outside of the bubble is
// decades long.
func (ns *Nodes) newInformer(resources string, example runtime.Object, handler cache.ResourceEventHandler) cache.SharedInformer {
	informer := cache.NewSharedInformer(cache.NewListWatchFromClient(ns.admin.core, resources, metav1.NamespaceAll, fields.Everything()), example, 0)
	logError := func(_ context.Context, _ *cache.Reflector, err error) {
		ns.t.Logf("clustertest: cannot watch %s, and tries again: %v", resources, err)
	}
	if err := informer.SetWatchErrorHandlerWithContext(logError); err != nil {
		ns.t.Fatalf("clustertest: %v", err) // The informer has started: impossible.
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		ns.t.Fatalf("clustertest: %v", err) // The informer has stopped: impossible.
	}
	return informer
}

// connectNodes sets the function that connects a node. A node connects directly to a server in memory. All nodes share
// the connections to another server.
func (ns *Nodes) connectNodes() error {
	if memory, ok := ns.config.Server.Transport.(apiservertest.Transport); ok {
		ns.connect = func(name string) (apiserver.Server, error) { return memory.Server().Client(name), nil }
		return nil
	}
	shared, err := client.New(ns.config.Server, ns.config.Prefix+"0")
	if err != nil {
		return err
	}
	ns.t.Cleanup(shared.Reconnect)
	ns.connect = func(name string) (apiserver.Server, error) { return shared.ForNode(name) }
	return nil
}

// All returns the nodes in order.
func (ns *Nodes) All() []*Node { return ns.all }

// Node returns the node with this name, or fails the test.
func (ns *Nodes) Node(name string) *Node {
	ns.t.Helper()
	for _, n := range ns.all {
		if n.name == name {
			return n
		}
	}
	ns.t.Fatalf("clustertest: there is no node %q: the names are %s0 to %s%d", name, ns.config.Prefix, ns.config.Prefix, len(ns.all)-1)
	return nil
}

// Node is one node of a test. Only the goroutine of the test calls its methods.
type Node struct {
	nodes   *Nodes
	name    string
	machine *memory.Runtime
	changed executor.Event // the Node object has changed

	mu struct {
		sync.Mutex
		node *cluster.Node // nil while the node is stopped
	}
	stop func() // of Start; nil while the node is stopped
}

// Name returns the name of the node.
func (n *Node) Name() string { return n.name }

// Machine returns the runtime of the node. The runtime continues while the agent of the node is stopped.
func (n *Node) Machine() *memory.Runtime { return n.machine }

// Cluster returns the joined node, or nil while the node is stopped.
func (n *Node) Cluster() *cluster.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.node
}

// Start starts the agent of the node after Stop. Its containers have kept running. If the agent runs, Start does
// nothing.
func (n *Node) Start() {
	n.nodes.t.Helper()
	if n.stop != nil {
		return
	}
	server, err := n.nodes.connect(n.name)
	if err != nil {
		n.nodes.t.Fatalf("clustertest: node %s: %v", n.name, err)
	}
	config := cluster.Config{Server: server, Node: node.Config{
		Name: n.name, Runtime: n.machine, Pods: node.PodsConfig{OrphanGrace: -1},
		Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("110"),
		}},
	}}
	if n.nodes.config.Configure != nil {
		n.nodes.config.Configure(&config)
	}
	userChanged := config.AgentHooks.Changed
	config.AgentHooks.Changed = func(object *v1.Node) {
		if userChanged != nil {
			userChanged(object)
		}
		n.changed.Signal()
		n.nodes.binder.requestPass()
	}
	joined, err := cluster.New(config)
	if err != nil {
		n.nodes.t.Fatalf("clustertest: node %s: %v", n.name, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- joined.Run(ctx) }()
	n.setCluster(joined)
	n.stop = func() {
		n.setCluster(nil)
		cancel()
		if err := <-done; err != nil {
			n.nodes.t.Errorf("clustertest: node %s: %v", n.name, err)
		}
	}
	n.nodes.binder.requestPass()
}

func (n *Node) setCluster(joined *cluster.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.node = joined
}

// Stop stops the agent of the node. Its containers keep running. If the agent does not run, Stop does nothing.
func (n *Node) Stop() {
	n.nodes.t.Helper()
	if stop := n.stop; stop != nil {
		n.stop = nil
		stop()
	}
}

// waitForRegistration waits until the server has the Node object. It fails the test after registrationTimeout.
func (n *Node) waitForRegistration() {
	n.nodes.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), registrationTimeout)
	defer cancel()
	if err := n.Cluster().WaitForRegistration(ctx); err != nil {
		n.nodes.t.Fatalf("clustertest: node %s is not registered at the API server after %s: %+v", n.name, registrationTimeout, n.Cluster().State())
	}
}

// waitUntilReady waits until the node is ready, or until the deadline. It does not fail the test after the deadline,
// because the configuration of a node may keep it from becoming ready.
func (n *Node) waitUntilReady(deadline time.Time) {
	ctx := context.Background()
	for !isReady(n.Cluster().Object()) {
		if signaled, err := n.changed.WaitUntil(ctx, deadline); err != nil || !signaled {
			return
		}
	}
}

// isReady reports whether the condition Ready of a node is true. A nil node is not ready.
func isReady(node *v1.Node) bool {
	return node != nil && slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue })
}

// Lose stops the agent of the node and makes the reports of the node lifecycle controller about a node that has not
// renewed its lease for 40 s. The condition Ready of the node is Unknown, the node has the unreachable taints, and its
// pods are not ready. EvictPods deletes the pods, as the control plane does after 300 s. Start starts the agent again. If
// the server has a node lifecycle controller, as in kind, that controller makes the same reports 40 s later.
func (n *Node) Lose() {
	n.nodes.t.Helper()
	n.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), registrationTimeout)
	defer cancel()
	if err := n.nodes.admin.reportNodeLost(ctx, n.name); err != nil {
		n.nodes.t.Fatalf("clustertest: node %s: %v", n.name, err)
	}
}

// EvictPods deletes the pods of a lost node, as the control plane does when the node is unreachable for longer than the
// pods tolerate, usually 300 s after Lose. Each pod gets the condition DisruptionTarget first. Pods that tolerate the
// unreachable taint for ever stay, such as the pods of a DaemonSet. Deleted pods stay Terminating until the node comes back
// or the test deletes them with grace period zero.
func (n *Node) EvictPods() {
	n.nodes.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), registrationTimeout)
	defer cancel()
	if err := n.nodes.admin.evictPods(ctx, n.name); err != nil {
		n.nodes.t.Fatalf("clustertest: node %s: %v", n.name, err)
	}
}
