package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/eviction/evictor"
)

// fakeNode is a node with scripted measurements that records the calls.
type fakeNode struct {
	mu        sync.Mutex
	pods      []evictor.Pod
	memory    map[string]uint64
	available map[eviction.Signal]int64 // in percent
	freed     int64                     // percent that each reclaim frees on each disk
	readErr   error
	evictErr  error
	reads     time.Duration // how often the signals were read: each measurement is newer than the last one
	calls     []string
}

func (n *fakeNode) record(format string, args ...any) {
	n.calls = append(n.calls, fmt.Sprintf(format, args...))
}

func (n *fakeNode) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := strings.Join(n.calls, "; ")
	n.calls = nil
	return text
}

func (n *fakeNode) ReadSignals(context.Context) (eviction.Observations, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reads++
	o := eviction.Observations{Signals: map[eviction.Signal]eviction.Observation{}}
	for s, available := range n.available {
		o.Signals[s] = eviction.Observation{Available: available, Capacity: 100, Time: time.Now().Add(n.reads)}
	}
	return o, n.readErr
}

func (n *fakeNode) Pods() []evictor.Pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.pods)
}

func (n *fakeNode) ReadUsage(_ context.Context, pod *v1.Pod) (eviction.Usage, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.record("usage %s", pod.Name)
	bytes, ok := n.memory[pod.Name]
	if !ok {
		return eviction.Usage{}, errors.New("no usage")
	}
	return eviction.Usage{Measured: true, MemoryBytes: &bytes, Volumes: []eviction.VolumeUsage{{Name: "dir", DiskUsage: eviction.DiskUsage{Bytes: &bytes}}}}, nil
}

func (n *fakeNode) Evict(v eviction.Victim) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.record("evict %s", v.UID)
	return n.evictErr
}

func (n *fakeNode) Reclaim(_ context.Context, kind eviction.ReclaimKind) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.record("reclaim %s", kind)
	for s := range n.available {
		n.available[s] += n.freed
	}
	return errors.New("some could not be removed")
}

func (n *fakeNode) stop(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pods = slices.DeleteFunc(n.pods, func(p evictor.Pod) bool { return p.Pod.Name == name })
}

func newPod(name string, limit string) evictor.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main"}}}}
	if limit != "" {
		pod.Spec.Volumes = []v1.Volume{{Name: "dir", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse(limit))}}}}
	}
	return evictor.Pod{Pod: pod}
}

// newEvictor returns an evictor with a hard threshold of 10 % for each signal that the node has.
func newEvictor(t *testing.T, n *fakeNode, hooks evictor.Hooks) *evictor.Evictor {
	t.Helper()
	hard := map[string]string{}
	for s := range n.available {
		hard[string(s)] = "10%"
	}
	thresholds, err := eviction.Settings{Hard: hard}.Thresholds()
	require.NoError(t, err)
	e, err := evictor.New(evictor.Config{Policy: eviction.Policy{Thresholds: thresholds}, Signals: n, Node: n, Hooks: hooks})
	require.NoError(t, err)
	return e
}

// TestNew_Config: the error names every missing field.
func TestNew_Config(t *testing.T) {
	_, err := evictor.New(evictor.Config{CallTimeout: -1})
	require.Error(t, err)
	for _, field := range []string{"Signals", "Node", "CallTimeout"} {
		assert.ErrorContains(t, err, field)
	}
}

// TestStep_MeasuresPodsOnlyWhenNeeded: without pressure only the pod with a limit of its own is measured. Under
// pressure all pods are measured, and one is evicted.
func TestStep_MeasuresPodsOnlyWhenNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeNode{pods: []evictor.Pod{newPod("a", ""), newPod("b", "1Gi"), newPod("c", "")},
			memory: map[string]uint64{"a": 10, "b": 20, "c": 30}, available: map[eviction.Signal]int64{eviction.MemoryAvailable: 50}}
		var acting []string
		e := newEvictor(t, n, evictor.Hooks{Acting: func(t eviction.Threshold) { acting = append(acting, string(t.Signal)) }})
		e.Step(t.Context())
		assert.Equal(t, "usage b", n.take())
		assert.Empty(t, e.Pressure().Conditions)
		n.available[eviction.MemoryAvailable] = 5
		time.Sleep(10 * time.Second)
		e.Step(t.Context())
		calls := strings.Split(n.take(), "; ")
		assert.Equal(t, "usage b", calls[0])
		assert.ElementsMatch(t, []string{"usage a", "usage c"}, calls[1:3])
		assert.Equal(t, []string{"evict c"}, calls[3:])
		assert.Equal(t, []v1.NodeConditionType{v1.NodeMemoryPressure}, e.Pressure().Conditions)
		assert.Equal(t, []string{"memory.available"}, acting)
	})
}

// TestStep_ReclaimsFirst: a removal that frees enough evicts no pod. One that does not is followed by an eviction in
// the same Step, also if it returns an error (EV-17).
func TestStep_ReclaimsFirst(t *testing.T) {
	for freed, want := range map[int64]string{5: "reclaim dead containers; reclaim unused images", 0: "reclaim dead containers; reclaim unused images; usage a; evict a"} {
		synctest.Test(t, func(t *testing.T) {
			n := &fakeNode{pods: []evictor.Pod{newPod("a", "")}, memory: map[string]uint64{"a": 1}, available: map[eviction.Signal]int64{eviction.NodeFsAvailable: 5}, freed: freed}
			e := newEvictor(t, n, evictor.Hooks{})
			next := e.Step(t.Context())
			assert.Equal(t, want, n.take())
			assert.Equal(t, 10*time.Second, time.Until(next))
		})
	}
}

// TestStep_NothingWithoutMeasurements: while signals cannot be measured, nothing is evicted, and after 30 seconds the
// state names the signal (EV-12).
func TestStep_NothingWithoutMeasurements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeNode{pods: []evictor.Pod{newPod("a", "")}, available: map[eviction.Signal]int64{eviction.MemoryAvailable: 5}}
		var states []evictor.Pressure
		e := newEvictor(t, n, evictor.Hooks{Changed: func(p evictor.Pressure) { states = append(states, p) }})
		delete(n.available, eviction.MemoryAvailable)
		n.readErr = errors.New("no file")
		for range 5 {
			e.Step(t.Context())
			time.Sleep(10 * time.Second)
		}
		assert.Empty(t, n.take())
		assert.Equal(t, []evictor.Pressure{{Unobserved: []eviction.Signal{eviction.MemoryAvailable}}}, states)
	})
}

// TestRun_NextPassWhenTheVictimStops: the loop does not wait for a victim. When the victim has stopped, the next pass
// follows at once, and not after ten seconds (EV-10).
func TestRun_NextPassWhenTheVictimStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeNode{pods: []evictor.Pod{newPod("a", ""), newPod("b", "")}, memory: map[string]uint64{"a": 2, "b": 1}, available: map[eviction.Signal]int64{eviction.MemoryAvailable: 5}}
		e := newEvictor(t, n, evictor.Hooks{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- e.Run(ctx) }()
		synctest.Wait()
		assert.Contains(t, n.take(), "evict a")
		time.Sleep(time.Second)
		e.PodReclaimed("b") // It was not evicted.
		synctest.Wait()
		assert.Empty(t, n.take())
		n.stop("a")
		e.PodReclaimed("a")
		synctest.Wait()
		assert.Contains(t, n.take(), "evict b")
		cancel()
		require.NoError(t, <-ended)
		require.ErrorIs(t, e.Run(ctx), runtime.ErrSecondRun)
	})
}

// TestStep_FailedEviction: a pod that could not be evicted is not awaited. The next pass tries again.
func TestStep_FailedEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeNode{pods: []evictor.Pod{newPod("a", "")}, memory: map[string]uint64{"a": 1}, available: map[eviction.Signal]int64{eviction.MemoryAvailable: 5}, evictErr: errors.New("unknown pod")}
		e := newEvictor(t, n, evictor.Hooks{})
		for range 2 {
			e.Step(t.Context())
			assert.Equal(t, "usage a; evict a", n.take())
			time.Sleep(10 * time.Second)
		}
	})
}

// TestStep_PanicsAreContained: a panic of the embedder's code fails one call.
func TestStep_PanicsAreContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeNode{pods: []evictor.Pod{newPod("a", "")}, memory: map[string]uint64{"a": 1}, available: map[eviction.Signal]int64{eviction.MemoryAvailable: 5}}
		e := newEvictor(t, n, evictor.Hooks{
			Changed: func(evictor.Pressure) { panic("changed") }, Acting: func(eviction.Threshold) { panic("acting") }, Evicted: func(eviction.Victim) { panic("evicted") },
		})
		e.Step(t.Context())
		assert.Equal(t, "usage a; evict a", n.take())
	})
	synctest.Test(t, func(t *testing.T) {
		n := &fakeNode{}
		var panicked []string
		e, err := evictor.New(evictor.Config{Signals: panicking{n}, Node: panicking{n}, Panicked: func(call string, _ error) { panicked = append(panicked, call) }})
		require.NoError(t, err)
		n.pods = []evictor.Pod{newPod("a", "1Gi")}
		e.Step(t.Context())
		assert.Equal(t, []string{"Signals.ReadSignals", "Node.ReadUsage"}, panicked)
	})
}

// panicking is a node whose measurements panic.
type panicking struct{ *fakeNode }

func (panicking) ReadSignals(context.Context) (eviction.Observations, error) { panic("signals") }

func (panicking) ReadUsage(context.Context, *v1.Pod) (eviction.Usage, error) { panic("usage") }

// TestStep_LogsAThresholdAboveTheCapacity: the threshold evicts a pod in each pass, and one log record says so.
func TestStep_LogsAThresholdAboveTheCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeNode{pods: []evictor.Pod{newPod("a", ""), newPod("b", "")}, available: map[eviction.Signal]int64{eviction.MemoryAvailable: 100}}
		thresholds, err := eviction.Settings{Hard: map[string]string{"memory.available": "200"}}.Thresholds()
		require.NoError(t, err)
		var log strings.Builder
		e, err := evictor.New(evictor.Config{Policy: eviction.Policy{Thresholds: thresholds}, Signals: n, Node: n, Log: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		for _, name := range []string{"a", "b"} {
			e.Step(t.Context())
			assert.Contains(t, n.take(), "evict "+name)
			n.stop(name)
			time.Sleep(10 * time.Second)
		}
		assert.Equal(t, 1, strings.Count(log.String(), "an eviction threshold is not below the capacity of its signal"))
		assert.Contains(t, log.String(), "signal=memory.available threshold=200 capacity=100")
	})
}
