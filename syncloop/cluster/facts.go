package cluster

import (
	"cmp"
	"context"
	"errors"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// Version is the one of Kubernetes whose behaviour a node has, as it reports it.
const Version = "v1.36.3"

// complete fills in what every node has.
func (c *Config) complete() {
	n := &c.Node
	n.Name = c.name()
	n.Statuses.MaxSends = cmp.Or(n.Statuses.MaxSends, DefaultMaxSends)
	if len(n.Containers.HostIPs) == 0 {
		n.Containers.HostIPs = []string{"127.0.0.1"}
	}
	n.Scheduling.Capacity = maps.Clone(n.Scheduling.Capacity)
	if n.Scheduling.Capacity == nil {
		n.Scheduling.Capacity = v1.ResourceList{}
	}
	if _, given := n.Scheduling.Capacity[v1.ResourcePods]; !given {
		n.Scheduling.Capacity[v1.ResourcePods] = *resource.NewQuantity(int64(cmp.Or(n.Scheduling.MaxPods, defaultMaxPods)), resource.DecimalSI)
	}
	c.Info.OperatingSystem = cmp.Or(c.Info.OperatingSystem, goruntime.GOOS)
	c.Info.Architecture = cmp.Or(c.Info.Architecture, goruntime.GOARCH)
	c.Info.KubeletVersion = cmp.Or(c.Info.KubeletVersion, Version)
}

func (c *Config) name() string { return strings.ToLower(cmp.Or(c.Node.Name, "localhost")) }

const defaultMaxPods = 110

// DefaultMaxSends is how many statuses a joined node sends at once, each of another pod: those of
// a full node take two round trips. A server takes 100 requests at once on a connection, watches
// included: each one more would open another connection. A node whose server has been away begins
// with one.
const DefaultMaxSends = 64

// imagePeriod is how often the images are listed for the node's status.
const imagePeriod = time.Minute

// measure finds the facts of the node's status. One goroutine uses it.
type measure struct {
	config   *Config
	guard    *contain.Guard
	executor executor.Executor
	node     *node.Node
	seen     time.Time
	status   runtime.RuntimeStatus
	images   []runtime.Image
	listed   time.Time
	version  string // of the runtime, as the Config or the runtime says it
	follows  bool   // the node's addresses are not given
	object   func() *v1.Node
	closing  func() bool // Shutdown is being called
	found    []string    // the addresses that were found last
	cidr     string      // the ranges that the runtime was told last
}

func newMeasure(c *Node) *measure {
	return &measure{
		config: &c.config, guard: c.guard, executor: c.executor, version: c.config.Info.ContainerRuntimeVersion,
		follows: c.follows, object: c.Object, closing: func() bool { return c.closing.Load() > 0 },
	}
}

// facts asks the runtime how it is. What it does not say is what it has said last.
func (m *measure) facts(ctx context.Context) nodestatus.Facts {
	m.within(ctx, 5*time.Second, m.ask)
	n := &m.config.Node
	f := nodestatus.Facts{
		RuntimeSeen: m.seen, Runtime: m.status, Images: m.images, Capacity: n.Scheduling.Capacity, Reserved: n.Scheduling.Reserved,
		Info: m.config.Info, Features: m.config.Features, Port: m.config.Port, Handlers: append([]string{""}, slices.Sorted(maps.Values(n.Containers.Handlers))...),
	}
	f.Handlers, f.Info.ContainerRuntimeVersion = slices.Compact(f.Handlers), m.version
	f.Addresses = m.addresses(ctx)
	if m.closing() || m.node.Health().ShuttingDown {
		f.Problems = append(f.Problems, "node is shutting down")
	}
	if err := m.node.Health().Err; err != nil && !m.seen.IsZero() {
		f.Problems = append(f.Problems, err.Error())
	}
	return f
}

// within calls f with a limit of time.
func (m *measure) within(ctx context.Context, limit time.Duration, f func(context.Context)) {
	ctx, cancel := m.executor.WithDeadline(ctx, m.executor.Now().Add(limit))
	defer cancel()
	f(ctx)
}

// addresses are those that are given, or found, or at the server.
func (m *measure) addresses(ctx context.Context) []v1.NodeAddress {
	ips := m.config.Node.Containers.HostIPs
	if m.follows {
		if m.config.LocalIPs != nil {
			m.within(ctx, 2*time.Second, m.find)
		}
		known := m.object()
		if ips = m.found; len(ips) == 0 && known != nil && len(nodestatus.HostIPs(known.Status.Addresses)) > 0 {
			return known.Status.Addresses
		}
		if len(ips) == 0 {
			ips = m.config.Node.Containers.HostIPs
		}
	}
	var all []v1.NodeAddress
	for _, ip := range ips {
		all = append(all, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip})
	}
	return append(all, v1.NodeAddress{Type: v1.NodeHostName, Address: m.config.Node.Name})
}

// find looks for the addresses of the node. What it does not find is as it was.
func (m *measure) find(ctx context.Context) {
	var found []string
	_ = m.guard.Call("LocalIPs", func() { found = m.config.LocalIPs(ctx) }) // The log names a panic.
	if len(found) > 0 {
		m.found = slices.Clone(found)
	}
}

// ask asks the runtime for its status, and from time to time for its images and version. Whether
// it is there is for the status alone to say.
func (m *measure) ask(ctx context.Context) {
	rt := contain.NewRuntime(m.guard, m.config.Node.Runtime)
	status := runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}
	var err error
	if reporter := rt.Features().StatusReporter; reporter != nil {
		status, err = reporter.RuntimeStatus(ctx)
	} else {
		_, err = rt.ListPods(ctx)
	}
	if err != nil {
		return
	}
	m.seen, m.status = m.executor.Now(), status
	if m.listed.IsZero() || m.seen.Sub(m.listed) >= imagePeriod {
		m.list(ctx, rt)
	}
	m.tellCIDR(ctx, rt)
}

// tellCIDR tells the runtime the ranges of addresses that the cluster has given to the node, if
// it has and they are others than before. What fails is tried again with the next status.
func (m *measure) tellCIDR(ctx context.Context, rt *contain.Runtime) {
	known := m.object()
	updater := rt.Features().PodCIDRUpdater
	if known == nil || updater == nil {
		return
	}
	cidr := strings.Join(known.Spec.PodCIDRs, ",")
	if cidr == "" || cidr == m.cidr {
		return
	}
	if err := updater.UpdatePodCIDR(ctx, cidr); err != nil && !errors.Is(err, runtime.ErrUnsupported) {
		m.guard.Log().Warn("the runtime cannot be told where the addresses of pods come from; trying again", "podCIDR", cidr, "err", err)
		return
	}
	m.cidr = cidr
}

// list asks for images and version. What fails is asked for again with the next status.
func (m *measure) list(ctx context.Context, rt *contain.Runtime) {
	if images, err := rt.ListImages(ctx); err == nil {
		m.images, m.listed = images, m.seen
	}
	if v := rt.Features().Versioner; v != nil && m.config.Info.ContainerRuntimeVersion == "" {
		if name, version, err := v.Version(ctx); err == nil {
			m.version = name + "://" + version
		}
	}
}
