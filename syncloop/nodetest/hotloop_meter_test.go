package nodetest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// meter counts the mutating calls of a node, by verb, target and minute. It stands
// between the node and all trouble, so it sees the calls that fail too.
type meter struct {
	now   func() time.Time
	calls map[metered]int
	// soon are the calls that failed for a reason which tends to be over soon.
	soon    map[metered]int
	asked   map[string]int    // by verb: calls that only look
	names   map[string]string // by the ID of a sandbox or container
	machine *memory.Runtime
}

// metered is the key by which calls are counted. Stops and removals are counted by record, because a container may have
// several. Everything else is counted by name, because a loop creates ever new IDs.
type metered struct {
	verb, target, id string
	minute           int
}

func (m metered) String() string {
	return fmt.Sprintf("%s of %s %s in minute %d", m.verb, m.target, m.id, m.minute)
}

func newMeter() *meter {
	return &meter{calls: map[metered]int{}, soon: map[metered]int{}, asked: map[string]int{}, names: map[string]string{}}
}

// wrapRuntime returns a runtime that counts the calls of another runtime and has all its features. Without events it is
// no runtime.EventSource.
func (m *meter) wrapRuntime(inner runtime.Runtime, clk clock.Clock, events bool) runtime.Runtime {
	m.now = clk.Now
	return counting{inner.(features), m, events}
}

// features are a runtime that reports its features.
type features interface {
	runtime.Runtime
	runtime.FeatureReporter
}

// counting is a runtime that counts what changes something.
type counting struct {
	features
	m      *meter
	events bool
}

// Features implements runtime.FeatureReporter.
func (c counting) Features() runtime.Features {
	f := c.features.Features()
	f.EventSource, f.Updater = countingStream{f.EventSource, c.m}, countingUpdates{f.Updater, c.m}
	if !c.events {
		f.EventSource = nil
	}
	return f
}

// countCall counts a call before it is made. The returned function records its result.
func (m *meter) countCall(verb, target, id string) (ended func(error) error) {
	call := metered{verb, target, id, int(m.now().Sub(epoch) / time.Minute)}
	m.calls[call]++
	return func(err error) error {
		if errors.Is(err, runtime.ErrExists) || errors.Is(err, runtime.ErrWrongState) {
			m.soon[call]++
		}
		return err
	}
}

// countingStream counts how often a stream is opened.
type countingStream struct {
	runtime.EventSource
	m *meter
}

func (s countingStream) Events(ctx context.Context, sink func(runtime.Event)) error {
	s.m.asked["Events"]++
	return s.EventSource.Events(ctx, sink)
}

func (c counting) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	c.m.asked["PodStatus"]++
	return c.features.PodStatus(ctx, uid)
}

func (c counting) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	c.m.asked["ListPods"]++
	return c.features.ListPods(ctx)
}

// byID is the name of a sandbox's pod, or of a container. A call whose reply was lost
// returned no ID; what the machine has no record of is its own target.
func (m *meter) byID(id string) string {
	if name := m.names[id]; name != "" {
		return name
	}
	for _, p := range m.machine.Snapshot() {
		for _, s := range p.Sandboxes {
			m.storeName(s.ID, p.Name)
		}
		for _, c := range p.Containers {
			m.storeName(c.ID, p.Name+"/"+c.Name)
		}
	}
	if name := m.names[id]; name != "" {
		return name
	}
	return "ID " + id
}

func (m *meter) storeName(id, name string) {
	if id != "" {
		m.names[id] = name
	}
}

func (c counting) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	ended := c.m.countCall("RunSandbox", req.Pod.Name, "")
	id, err := c.features.RunSandbox(ctx, req)
	c.m.storeName(id, req.Pod.Name)
	return id, ended(err)
}

func (c counting) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	return c.m.countCall("StopSandbox", c.m.byID(req.SandboxID), req.SandboxID)(c.features.StopSandbox(ctx, req))
}

func (c counting) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	return c.m.countCall("RemoveSandbox", c.m.byID(req.SandboxID), req.SandboxID)(c.features.RemoveSandbox(ctx, req))
}

func (c counting) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	name := req.Pod.Name + "/" + req.Name
	ended := c.m.countCall("CreateContainer", name, "")
	id, err := c.features.CreateContainer(ctx, req)
	c.m.storeName(id, name)
	return id, ended(err)
}

func (c counting) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	return c.m.countCall("StartContainer", c.m.byID(req.ContainerID), "")(c.features.StartContainer(ctx, req))
}

func (c counting) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	return c.m.countCall("StopContainer", c.m.byID(req.ContainerID), req.ContainerID)(c.features.StopContainer(ctx, req))
}

func (c counting) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error {
	return c.m.countCall("RemoveContainer", c.m.byID(req.ContainerID), req.ContainerID)(c.features.RemoveContainer(ctx, req))
}

func (c counting) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	ended := c.m.countCall("PullImage", req.Image, "")
	ref, err := c.features.PullImage(ctx, req)
	return ref, ended(err)
}

func (c counting) RemoveImage(ctx context.Context, req runtime.RemoveImageRequest) error {
	return c.m.countCall("RemoveImage", req.Image, "")(c.features.RemoveImage(ctx, req))
}

// countingUpdates counts the changes of resources.
type countingUpdates struct {
	runtime.Updater
	m *meter
}

func (u countingUpdates) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	return u.m.countCall("UpdateContainer", u.m.byID(req.ContainerID), req.ContainerID)(u.Updater.UpdateContainer(ctx, req))
}

// fieldLiar reports statuses with something wrong in them, as long as lie is set.
type fieldLiar struct {
	features
	lie    func(*runtime.PodStatus)
	stream runtime.EventSource // replaces the event source of features
}

// Features implements runtime.FeatureReporter.
func (l *fieldLiar) Features() runtime.Features {
	f := l.features.Features()
	if l.stream != nil {
		f.EventSource = l.stream
	}
	return f
}

// PodStatus never changes what the runtime has returned: that is shared.
func (l *fieldLiar) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	st, err := l.features.PodStatus(ctx, uid)
	if err != nil || l.lie == nil {
		return st, err
	}
	wrong := *st
	wrong.Sandboxes = append([]runtime.SandboxStatus(nil), st.Sandboxes...)
	wrong.Containers = append([]runtime.ContainerStatus(nil), st.Containers...)
	l.lie(&wrong)
	return &wrong, nil
}
