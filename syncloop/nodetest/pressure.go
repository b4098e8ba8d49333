package nodetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/node"
)

// Pressure measures a node from the usage of its containers, as their scripts in the in-memory runtime define it, so
// that evictions happen in virtual time:
//
//	p := &nodetest.Pressure{MemoryBytes: 1 << 30}
//	settings := eviction.Settings{Hard: map[string]string{"memory.available": "100Mi"}}
//	s := nodetest.New(t, nodetest.Config{Configure: p.Configure(settings, eviction.Policy{})})
//	s.Apply(pod) // a script such as "run=forever memory=900Mi": podtest.Uses("memory=900Mi")
//	p.SetOther(eviction.MemoryAvailable, 100<<20)
//
// It works for each node.Config with a Runtime: in Config.Configure here, and in a node of package clustertest:
//
//	nodes := clustertest.Start(t, clustertest.Config{Server: restConfig, Configure: func(c *cluster.Config) {
//		p.Configure(settings, eviction.Policy{})(&c.Node)
//	}})
//
// Nodes that share a Pressure share what the test sets. The volumes and logs of pods have the sizes that the test
// sets. Its methods may be called at any time.
type Pressure struct {
	// MemoryBytes, DiskBytes and Processes are the capacities of the node. Signals without a capacity are not measured.
	MemoryBytes, DiskBytes, Processes int64
	// ImageDiskBytes is the capacity of a file system for images and writable layers. Zero: they share the disk of
	// volumes and logs.
	ImageDiskBytes int64

	mu struct {
		sync.Mutex
		other   map[eviction.Signal]int64
		volumes map[podFile]uint64
		logs    map[podFile]uint64
		blind   bool
	}
}

// podFile names a volume of a pod, or the logs of a container.
type podFile struct{ pod, name string }

// SetOther sets how much of a signal's resource is used by something other than pods and images.
func (p *Pressure) SetOther(s eviction.Signal, amount int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.other == nil {
		p.mu.other = map[eviction.Signal]int64{}
	}
	p.mu.other[s] = amount
}

// SetVolume sets the size of a volume of a pod.
func (p *Pressure) SetVolume(pod, volume string, bytes uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.volumes == nil {
		p.mu.volumes = map[podFile]uint64{}
	}
	p.mu.volumes[podFile{pod, volume}] = bytes
}

// SetLogs sets the size of the logs of a container.
func (p *Pressure) SetLogs(pod, container string, bytes uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.logs == nil {
		p.mu.logs = map[podFile]uint64{}
	}
	p.mu.logs[podFile{pod, container}] = bytes
}

// SetBlind makes every measurement of the node fail, or succeed again.
func (p *Pressure) SetBlind(blind bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.blind = blind
}

// Configure returns a function for Config.Configure that lets the node evict pods. Thresholds of the policy come in
// addition to the settings. Configure panics if the settings are invalid. The function panics if the node has no
// Runtime, because it measures that runtime. Without a Clock it uses the real clock, as the node does.
func (p *Pressure) Configure(settings eviction.Settings, policy eviction.Policy) func(*node.Config) {
	thresholds, err := settings.Thresholds()
	if err != nil {
		panic(err)
	}
	policy.Thresholds = append(thresholds, policy.Thresholds...)
	return func(c *node.Config) {
		if c.Runtime == nil {
			panic("nodetest: Pressure: Config.Runtime of the node is nil: set it before Pressure configures the node, which measures the pods of this runtime")
		}
		m := measuredMachine{p, c.Runtime, c.Clock}
		if m.clock == nil {
			m.clock = clock.RealClock{}
		}
		c.Eviction = node.EvictionConfig{Signals: m, Storage: m, Policy: policy}
	}
}

// measuredMachine measures a runtime for a node. It implements evictor.SignalReader and node.StorageReader.
type measuredMachine struct {
	pressure *Pressure
	runtime  runtime.Runtime
	clock    clock.PassiveClock
}

// ReadStorage implements node.StorageReader with the sizes that the test has set.
func (m measuredMachine) ReadStorage(_ context.Context, pod *v1.Pod) (eviction.Storage, error) {
	p := m.pressure
	p.mu.Lock()
	defer p.mu.Unlock()
	storage := eviction.Storage{Logs: map[string]eviction.DiskUsage{}}
	for _, v := range pod.Spec.Volumes {
		if bytes, ok := p.mu.volumes[podFile{pod.Name, v.Name}]; ok {
			storage.Volumes = append(storage.Volumes, eviction.VolumeUsage{Name: v.Name, DiskUsage: eviction.DiskUsage{Bytes: &bytes}})
		}
	}
	for _, c := range pod.Spec.Containers {
		bytes := p.mu.logs[podFile{pod.Name, c.Name}]
		storage.Logs[c.Name] = eviction.DiskUsage{Bytes: &bytes}
	}
	return storage, nil
}

// machineUsage is the usage of all pods of a machine.
type machineUsage struct{ memory, layers, images, processes int64 }

// ReadSignals implements evictor.SignalReader: each signal is its capacity less the usage of all pods, of images on
// the disk, and of what the test has set.
func (m measuredMachine) ReadSignals(ctx context.Context) (eviction.Observations, error) {
	used, err := m.sumUsage(ctx)
	if err != nil {
		return eviction.Observations{}, err
	}
	p := m.pressure
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.blind {
		return eviction.Observations{}, errors.New("nodetest: the test has made measurements fail")
	}
	o := eviction.Observations{Signals: map[eviction.Signal]eviction.Observation{}}
	add := func(s eviction.Signal, capacity, used int64) {
		if capacity > 0 {
			o.Signals[s] = eviction.Observation{Available: max(0, capacity-used-p.mu.other[s]), Capacity: capacity, Time: m.clock.Now()}
		}
	}
	var files int64
	for _, bytes := range p.mu.volumes {
		files += int64(min(bytes, math.MaxInt32<<16))
	}
	for _, bytes := range p.mu.logs {
		files += int64(min(bytes, math.MaxInt32<<16))
	}
	add(eviction.MemoryAvailable, p.MemoryBytes, used.memory)
	add(eviction.PIDAvailable, p.Processes, used.processes)
	if p.ImageDiskBytes > 0 {
		o.Layout = eviction.DedicatedImages
		add(eviction.ImageFsAvailable, p.ImageDiskBytes, used.layers+used.images)
		add(eviction.NodeFsAvailable, p.DiskBytes, files)
		return o, nil
	}
	add(eviction.ImageFsAvailable, p.DiskBytes, used.layers+used.images+files)
	add(eviction.NodeFsAvailable, p.DiskBytes, used.layers+used.images+files)
	return o, nil
}

// sumUsage returns the sums of the usage of all pods and images of the runtime. It returns an error if the
// runtime has no StatsReader or a read fails.
func (m measuredMachine) sumUsage(ctx context.Context) (sum machineUsage, err error) {
	reader := runtime.FeaturesOf(m.runtime).StatsReader
	if reader == nil {
		return sum, fmt.Errorf("nodetest: pressure: %w", runtime.ErrUnsupported)
	}
	pods, err := m.runtime.ListPods(ctx)
	if err != nil {
		return sum, err
	}
	for _, pod := range pods {
		stats, err := reader.PodStats(ctx, pod.UID)
		if err != nil {
			return sum, err
		}
		if stats.Processes != nil {
			sum.processes += int64(*stats.Processes)
		}
		for _, c := range stats.Containers {
			sum.memory += int64(*c.Memory.WorkingSetBytes)
			sum.layers += int64(*c.Filesystem.UsedBytes)
		}
	}
	images, err := m.runtime.ListImages(ctx)
	for _, image := range images {
		sum.images += int64(image.SizeBytes)
	}
	return sum, err
}
