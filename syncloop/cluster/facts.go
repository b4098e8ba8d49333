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

// Version is the Kubernetes version whose behaviour a node has. The node reports it.
const Version = "v1.36.3"

// setDefaultsAndNormalizeName sets defaults for the status sends, the host IPs, the pod capacity and the node
// info. It also sets the node name to lower case, or to localhost.
func (c *Config) setDefaultsAndNormalizeName() {
	n := &c.Node
	n.Name = c.nodeName()
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

// nodeName returns the configured node name in lower case, or localhost if it is empty.
func (c *Config) nodeName() string { return strings.ToLower(cmp.Or(c.Node.Name, "localhost")) }

const defaultMaxPods = 110

// DefaultMaxSends is how many pod statuses a joined node sends concurrently. The statuses of a full node then take two
// round trips. A server accepts 100 concurrent requests per connection, watches included. A higher limit would open
// another connection. After an outage the node begins with one request.
const DefaultMaxSends = 64

// imagePeriod is how often the node lists images for its status.
const imagePeriod = time.Minute

// factsCollector collects the facts of the node's status. Only one goroutine uses it.
type factsCollector struct {
	config           *Config
	guard            *contain.Guard
	executor         executor.Executor
	node             *node.Node
	runtimeSeen      time.Time
	status           runtime.RuntimeStatus
	strictGroups     runtime.Support
	images           []runtime.Image
	imagesListedAt   time.Time
	version          string // of the runtime, from the Config or the runtime
	detectsAddresses bool   // HostIPs are empty
	nodeObject       func() *v1.Node
	isShuttingDown   func() bool // whether Shutdown is running
	localIPs         []string    // last result of Config.LocalIPs
	sentCIDR         string      // last pod CIDR that the runtime has accepted
}

// newFactsCollector returns a collector of the facts for the node status. Its field node stays nil; buildNode
// sets it.
func newFactsCollector(c *Node) *factsCollector {
	return &factsCollector{
		config: &c.config, guard: c.guard, executor: c.executor, version: c.config.Info.ContainerRuntimeVersion,
		detectsAddresses: c.detectsAddresses, nodeObject: c.Object, isShuttingDown: func() bool { return c.shutdownCalls.Load() > 0 },
	}
}

// collectFacts returns the facts for the node status: runtime, images, capacity, addresses and problems. If the
// runtime does not respond within 5 seconds, it returns the last runtime status.
func (m *factsCollector) collectFacts(ctx context.Context) nodestatus.Facts {
	m.callWithTimeout(ctx, 5*time.Second, m.updateRuntimeFactsAndSendPodCIDR)
	n := &m.config.Node
	f := nodestatus.Facts{
		RuntimeSeen: m.runtimeSeen, Runtime: m.status, Images: m.images, Capacity: n.Scheduling.Capacity, Allocatable: n.Allocatable(),
		Info: m.config.Info, Features: m.config.Features, Port: m.config.Port, StrictGroups: m.strictGroups, Handlers: append([]string{""}, slices.Sorted(maps.Values(n.Containers.Handlers))...),
	}
	f.Handlers, f.Info.ContainerRuntimeVersion = slices.Compact(f.Handlers), m.version
	f.Addresses = m.nodeAddresses(ctx)
	f.Pressure = m.node.Health().Pressure
	if m.isShuttingDown() || m.node.Health().ShuttingDown {
		f.Problems = append(f.Problems, "node is shutting down")
	}
	if err := m.node.Health().Err; err != nil && !m.runtimeSeen.IsZero() {
		f.Problems = append(f.Problems, err.Error())
	}
	return f
}

// callWithTimeout calls f with a context that ends after the limit, and waits until f returns.
func (m *factsCollector) callWithTimeout(ctx context.Context, limit time.Duration, f func(context.Context)) {
	ctx, cancel := m.executor.WithDeadline(ctx, m.executor.Now().Add(limit))
	defer cancel()
	f(ctx)
}

// nodeAddresses returns the configured IP addresses of the node, or the detected ones if none are configured,
// and its host name. If no address has ever been detected, it returns the addresses of the Node object, or
// 127.0.0.1 if that has none.
func (m *factsCollector) nodeAddresses(ctx context.Context) []v1.NodeAddress {
	ips := m.config.Node.Containers.HostIPs
	if m.detectsAddresses {
		if m.config.LocalIPs != nil {
			m.callWithTimeout(ctx, 2*time.Second, m.updateLocalIPs)
		}
		known := m.nodeObject()
		if ips = m.localIPs; len(ips) == 0 && known != nil && len(nodestatus.HostIPs(known.Status.Addresses)) > 0 {
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

// updateLocalIPs calls Config.LocalIPs and stores the addresses. If the call returns no address or panics, the
// last addresses stay.
func (m *factsCollector) updateLocalIPs(ctx context.Context) {
	var found []string
	_ = m.guard.Call("LocalIPs", func() { found = m.config.LocalIPs(ctx) }) // The guard logs a panic.
	if len(found) > 0 {
		m.localIPs = slices.Clone(found)
	}
}

// updateRuntimeFactsAndSendPodCIDR stores the status of the runtime, and periodically its images and version,
// and sends a changed pod CIDR to the runtime. If the status call fails, it changes nothing.
func (m *factsCollector) updateRuntimeFactsAndSendPodCIDR(ctx context.Context) {
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
	m.runtimeSeen, m.status, m.strictGroups = m.executor.Now(), status, rt.Features().StrictGroups
	if m.imagesListedAt.IsZero() || m.runtimeSeen.Sub(m.imagesListedAt) >= imagePeriod {
		m.updateImagesAndVersion(ctx, rt)
	}
	m.sendChangedPodCIDR(ctx, rt)
}

// sendChangedPodCIDR sends the pod CIDRs of the Node object to the runtime if they have changed and the runtime
// supports the call. It logs a failure, and the next status retries it.
func (m *factsCollector) sendChangedPodCIDR(ctx context.Context, rt *contain.Runtime) {
	known := m.nodeObject()
	updater := rt.Features().PodCIDRUpdater
	if known == nil || updater == nil {
		return
	}
	cidr := strings.Join(known.Spec.PodCIDRs, ",")
	if cidr == "" || cidr == m.sentCIDR {
		return
	}
	if err := updater.UpdatePodCIDR(ctx, cidr); err != nil && !errors.Is(err, runtime.ErrUnsupported) {
		m.guard.Log().Warn("cannot update the pod CIDR of the runtime; retrying", "podCIDR", cidr, "err", err)
		return
	}
	m.sentCIDR = cidr
}

// updateImagesAndVersion stores the images of the runtime, and its version if the configuration has none. After
// an error the old value stays.
func (m *factsCollector) updateImagesAndVersion(ctx context.Context, rt *contain.Runtime) {
	if images, err := rt.ListImages(ctx); err == nil {
		m.images, m.imagesListedAt = images, m.runtimeSeen
	}
	if v := rt.Features().Versioner; v != nil && m.config.Info.ContainerRuntimeVersion == "" {
		if name, version, err := v.Version(ctx); err == nil {
			m.version = name + "://" + version
		}
	}
}
