package node_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/node"
)

// lowMemory measures 5 % of available memory, and 50 % while a test wants it.
type lowMemory struct{ enough atomic.Bool }

func newLowMemory(enough bool) *lowMemory {
	m := &lowMemory{}
	m.enough.Store(enough)
	return m
}

func (m *lowMemory) ReadSignals(context.Context) (eviction.Observations, error) {
	o := eviction.Observation{Available: 5, Capacity: 100, Time: time.Now()}
	if m.enough.Load() {
		o.Available = 50
	}
	return eviction.Observations{Signals: map[eviction.Signal]eviction.Observation{eviction.MemoryAvailable: o}}, nil
}

// annotations records events with their annotations, as client-go's recorder can.
type annotations struct{ ends }

func (a *annotations) Eventf(o k8sruntime.Object, kind, reason, format string, args ...any) {
	a.Event(o, kind, reason, fmt.Sprintf(format, args...))
}

func (a *annotations) Event(o k8sruntime.Object, kind, reason, message string) {
	if ref, ok := o.(*v1.ObjectReference); ok {
		a.addAnnotation(ref.Kind + " " + kind + " " + reason + ": " + message)
	}
}

func (a *annotations) AnnotatedEventf(o k8sruntime.Object, with map[string]string, kind, reason, format string, args ...any) {
	a.addAnnotation(fmt.Sprint(o.(*v1.Pod).Name, " ", kind, " ", reason, " ", with["starved_resource"], ": ", fmt.Sprintf(format, args...)))
}

func (a *annotations) addAnnotation(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said = append(a.said, text)
}

func evictionConfig(t *testing.T, signals *lowMemory) node.EvictionConfig {
	thresholds, err := eviction.Settings{Hard: map[string]string{"memory.available": "10%"}}.Thresholds()
	assert.NoError(t, err)
	return node.EvictionConfig{Signals: signals, Policy: eviction.Policy{Thresholds: thresholds}}
}

// TestNode_EV14_EV24_Events: the node has an event about the threshold. The event of the pod has annotations, if the
// recorder supports them.
func TestNode_EV14_EV24_Events(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, signals := &annotations{}, newLowMemory(true)
		n := runConfig(t, node.Config{Runtime: memory.New(memory.Config{}), Recorder: events, Eviction: evictionConfig(t, signals)})
		assert.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(5 * time.Second)
		signals.enough.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		all := strings.Join(events.allEnds(), "\n")
		assert.Contains(t, all, "Node Warning EvictionThresholdMet: Attempting to reclaim memory")
		assert.Contains(t, all, "web Warning Evicted memory: The node was low on resource: memory.")
		assert.True(t, n.Health().Pressure[v1.NodeMemoryPressure])
	})
}

// TestNode_EV22_Evictable: a pod that Config.Scheduling.Evictable excludes is not evicted, and the other one is.
func TestNode_EV22_Evictable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := node.Config{Runtime: memory.New(memory.Config{}), Eviction: evictionConfig(t, &lowMemory{})}
		c.Scheduling.Evictable = func(p *v1.Pod) bool { return p.Name != "critical" }
		c.Eviction.Policy.Period = 5 * time.Second
		n := runConfig(t, c)
		for _, name := range []string{"critical", "drop"} {
			p := newPod(name, "serve")
			p.Spec.Priority = new(int32(2_000_000_000)) // It is admitted under pressure.
			if name == "drop" {
				p.Spec.Priority = nil
				p.Spec.Tolerations = []v1.Toleration{{Key: v1.TaintNodeMemoryPressure, Operator: v1.TolerationOpExists}}
			}
			assert.NoError(t, n.Apply(p))
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		phases := map[string]v1.PodPhase{}
		for _, p := range n.Pods() {
			phases[p.Name] = p.Status.Phase
		}
		assert.Equal(t, map[string]v1.PodPhase{"critical": v1.PodRunning, "drop": v1.PodFailed}, phases)
	})
}

// heldVolumes removes the volumes of a pod only after release is closed.
type heldVolumes struct {
	podsync.Volumes
	release chan struct{}
}

func (v heldVolumes) TearDown(ctx context.Context, uid types.UID) error {
	select {
	case <-v.release:
		return v.Volumes.TearDown(ctx, uid)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestNode_EV10_VolumesOfTheVictim: the next pod is evicted when the volumes of the last victim are removed, and not
// already when its containers have stopped.
func TestNode_EV10_VolumesOfTheVictim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := newLowMemory(true)
		c := node.Config{Runtime: memory.New(memory.Config{}), Eviction: evictionConfig(t, signals)}
		inMemory := inmemory.New(inmemory.Config{})
		release := make(chan struct{})
		c.Volumes = node.VolumesConfig{Manager: heldVolumes{inMemory, release}, Files: inMemory}
		c.Eviction.Policy.Period = time.Second
		n := runConfig(t, c)
		for _, name := range []string{"a", "b"} {
			assert.NoError(t, n.Apply(newPod(name, "serve")))
		}
		time.Sleep(3 * time.Second)
		signals.enough.Store(false)
		evicted := func() (count int) {
			synctest.Wait()
			for _, p := range n.Pods() {
				if p.Status.Reason == eviction.Reason {
					count++
				}
			}
			return count
		}
		time.Sleep(8 * time.Second)
		assert.Equal(t, 1, evicted(), "the containers of the first victim have stopped, and its volumes are there")
		close(release)
		time.Sleep(3 * time.Second)
		assert.Equal(t, 2, evicted(), "its volumes are removed")
	})
}

// knocker is a MemoryNotifier that requests passes when the test does.
type knocker chan struct{}

func (k knocker) Run(ctx context.Context, request func()) error {
	for {
		select {
		case <-k:
			request()
		case <-ctx.Done():
			return nil
		}
	}
}

// TestNode_EV11_MemoryNotifier: a notification about memory starts a pass before its period is over.
func TestNode_EV11_MemoryNotifier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals, knock := newLowMemory(true), make(knocker)
		config := evictionConfig(t, signals)
		config.MemoryNotifier = knock
		n := runConfig(t, node.Config{Runtime: memory.New(memory.Config{}), Eviction: config})
		time.Sleep(time.Second)
		signals.enough.Store(false)
		synctest.Wait()
		assert.False(t, n.Health().Pressure[v1.NodeMemoryPressure])
		knock <- struct{}{}
		synctest.Wait()
		assert.True(t, n.Health().Pressure[v1.NodeMemoryPressure])
	})
}

// TestNode_Eviction_OffByDefault: a node without Config.Eviction has no pressure conditions.
func TestNode_Eviction_OffByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{Runtime: memory.New(memory.Config{})})
		assert.Nil(t, n.Health().Pressure)
	})
}

// unknownStorage cannot measure the pod "important".
type unknownStorage struct{}

func (unknownStorage) ReadStorage(_ context.Context, p *v1.Pod) (eviction.Storage, error) {
	if p.Name == "important" {
		return eviction.Storage{}, context.DeadlineExceeded
	}
	return eviction.Storage{}, nil
}

// TestNode_StorageIncomplete: scarce memory evicts the pod with the lower priority first, although the files of the other pod
// cannot be counted.
func TestNode_StorageIncomplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := newLowMemory(true)
		c := node.Config{Runtime: memory.New(memory.Config{}), Eviction: evictionConfig(t, signals)}
		c.Eviction.Storage = unknownStorage{}
		n := runConfig(t, c)
		for name, priority := range map[string]int32{"important": 1000, "other": 0} {
			p := newPod(name, "serve")
			p.Spec.Priority = &priority
			assert.NoError(t, n.Apply(p))
		}
		time.Sleep(5 * time.Second)
		signals.enough.Store(false)
		time.Sleep(6 * time.Second)
		signals.enough.Store(true)
		synctest.Wait()
		phases := map[string]v1.PodPhase{}
		for _, p := range n.Pods() {
			phases[p.Name] = p.Status.Phase
		}
		assert.Equal(t, map[string]v1.PodPhase{"important": v1.PodRunning, "other": v1.PodFailed}, phases)
	})
}

// partialStorage measures a part of the emptyDirs of the pods, and then gives up.
type partialStorage struct{}

func (partialStorage) ReadStorage(_ context.Context, pod *v1.Pod) (eviction.Storage, error) {
	bytes := map[string]uint64{"above": 2 << 30, "below": 1 << 20}[pod.Name]
	return eviction.Storage{Volumes: []eviction.VolumeUsage{{Name: "data", DiskUsage: eviction.DiskUsage{Bytes: &bytes}}}}, context.DeadlineExceeded
}

// TestNode_EV28_LowerBound: a pod with too many files to count them in time exceeds the limit of its emptyDir as soon as
// the counted part does.
func TestNode_EV28_LowerBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := node.Config{Runtime: memory.New(memory.Config{}), Eviction: evictionConfig(t, newLowMemory(true))}
		c.Eviction.Storage = partialStorage{}
		inMemory := inmemory.New(inmemory.Config{})
		c.Volumes = node.VolumesConfig{Manager: inMemory, Files: inMemory}
		n := runConfig(t, c)
		for _, name := range []string{"above", "below"} {
			p := newPod(name, "serve")
			p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Gi"))}}}}
			assert.NoError(t, n.Apply(p))
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		states := map[string]string{}
		for _, p := range n.Pods() {
			states[p.Name] = string(p.Status.Phase) + " " + p.Status.Reason
		}
		assert.Equal(t, map[string]string{"above": "Failed Evicted", "below": "Running "}, states)
	})
}
