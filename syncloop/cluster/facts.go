package cluster

import (
	"cmp"
	"context"
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
	n.MaxSends = cmp.Or(n.MaxSends, defaultMaxSends)
	if len(n.HostIPs) == 0 {
		n.HostIPs = []string{"127.0.0.1"}
	}
	n.Capacity = maps.Clone(n.Capacity)
	if n.Capacity == nil {
		n.Capacity = v1.ResourceList{}
	}
	if _, given := n.Capacity[v1.ResourcePods]; !given {
		n.Capacity[v1.ResourcePods] = *resource.NewQuantity(int64(cmp.Or(n.MaxPods, defaultMaxPods)), resource.DecimalSI)
	}
	c.Info.OperatingSystem = cmp.Or(c.Info.OperatingSystem, goruntime.GOOS)
	c.Info.Architecture = cmp.Or(c.Info.Architecture, goruntime.GOARCH)
	c.Info.KubeletVersion = cmp.Or(c.Info.KubeletVersion, Version)
}

func (c *Config) name() string { return strings.ToLower(cmp.Or(c.Node.Name, "localhost")) }

const defaultMaxPods = 110

// defaultMaxSends has 100 statuses sent in four round trips. The server bounds how much of that
// it does at once.
const defaultMaxSends = 32

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
}

func newMeasure(config *Config, guard *contain.Guard) *measure {
	return &measure{config: config, guard: guard, executor: executor.Over(config.Node.Clock), version: config.Info.ContainerRuntimeVersion}
}

// facts asks the runtime how it is. What it does not say is what it has said last.
func (m *measure) facts(ctx context.Context) nodestatus.Facts {
	const limit = 5 * time.Second
	ctx, cancel := m.executor.WithDeadline(ctx, m.executor.Now().Add(limit))
	defer cancel()
	m.ask(ctx)
	n := &m.config.Node
	f := nodestatus.Facts{
		RuntimeSeen: m.seen, Runtime: m.status, Images: m.images, Capacity: n.Capacity, Reserved: n.Reserved,
		Info: m.config.Info, Features: m.config.Features, Port: m.config.Port, Handlers: append([]string{""}, slices.Sorted(maps.Values(n.Handlers))...),
	}
	f.Handlers, f.Info.ContainerRuntimeVersion = slices.Compact(f.Handlers), m.version
	for _, ip := range n.HostIPs {
		f.Addresses = append(f.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip})
	}
	f.Addresses = append(f.Addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: n.Name})
	if err := m.node.Healthy(); err != nil && !m.seen.IsZero() {
		f.Problems = append(f.Problems, err.Error())
	}
	return f
}

// ask asks the runtime for its status, and from time to time for its images and version. Whether
// it is there is for the status alone to say.
func (m *measure) ask(ctx context.Context) {
	rt := contain.NewRuntime(m.guard, m.config.Node.Runtime)
	status := runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}
	var err error
	if reporter := contain.Feature[runtime.StatusReporter](m.guard, rt); reporter != nil {
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
}

// list asks for images and version. What fails is asked for again with the next status.
func (m *measure) list(ctx context.Context, rt runtime.Runtime) {
	if images, err := rt.ListImages(ctx); err == nil {
		m.images, m.listed = images, m.seen
	}
	if v := contain.Feature[runtime.Versioner](m.guard, rt); v != nil && m.config.Info.ContainerRuntimeVersion == "" {
		if name, version, err := v.Version(ctx); err == nil {
			m.version = name + "://" + version
		}
	}
}
