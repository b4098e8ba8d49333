package node_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// foreign is a PodSyncer that has nothing to do with containers: a pod is a task of
// this process, and one with the policy Never takes three seconds.
type foreign struct {
	parts node.SyncerParts
	mu    sync.Mutex
	calls map[string][]string // by pod
	kept  []types.UID         // at the last Forget
}

func (f *foreign) recordCall(call string, pod *v1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[pod.Name] = append(f.calls[pod.Name], call)
}

func (f *foreign) callsFor(pod string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(slices.Compact(slices.Clone(f.calls[pod])), ", ")
}

func (f *foreign) SyncPod(ctx context.Context, _ podworkers.SyncPodType, pod, _ *v1.Pod, _ *runtime.PodStatus) (bool, error) {
	f.recordCall("sync", pod)
	if pod.Name == "bad" {
		panic("a fault of the syncer")
	}
	f.parts.Status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning})
	if pod.Spec.RestartPolicy != v1.RestartPolicyNever {
		return false, nil
	}
	if err := podworkers.Wait(ctx, 3*time.Second); err != nil {
		return false, err
	}
	f.parts.Status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodSucceeded})
	return true, nil
}

func (f *foreign) SyncTerminatingPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus, _ *int64, change podworkers.PodStatusFunc) error {
	f.recordCall("stop", pod)
	if status, ok := f.parts.Status.GetPodStatus(pod.UID); ok && change != nil {
		change(&status)
		f.parts.Status.SetPodStatus(pod, status)
	}
	return nil
}

func (f *foreign) SyncTerminatingRuntimePod(context.Context, *runtime.Pod) error { return nil }

func (f *foreign) SyncTerminatedPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus) error {
	f.recordCall("clean up", pod)
	f.parts.Status.TerminatePod(pod)
	return nil
}

func (f *foreign) Forget(keep func(types.UID) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = nil
	for _, uid := range []types.UID{"web", "job", "bad"} {
		if keep(uid) {
			f.kept = append(f.kept, uid)
		}
	}
}

// TestNode_NewSyncer: a PodSyncer of the embedder's does the work; the node calls it,
// publishes what it reports, and asks no runtime to run anything.
func TestNode_NewSyncer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, f := memory.New(memory.Config{}), &foreign{calls: make(map[string][]string)}
		n := runConfig(t, node.Config{Runtime: machine, NewSyncer: func(parts node.SyncerParts) (podworkers.PodSyncer, error) {
			f.parts = parts
			return f, nil
		}})
		web, job := newPod("web"), newPod("job")
		job.Spec.RestartPolicy = v1.RestartPolicyNever
		web.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}}}
		require.NoError(t, n.Apply(web))
		require.NoError(t, n.Apply(job))
		time.Sleep(2 * time.Second)
		assert.Equal(t, map[string]v1.PodPhase{"web": v1.PodRunning, "job": v1.PodRunning}, podPhases(n.Node), "no field is checked for it")
		time.Sleep(4 * time.Second)
		assert.Equal(t, map[string]v1.PodPhase{"web": v1.PodRunning, "job": v1.PodSucceeded}, podPhases(n.Node))
		assert.Equal(t, []types.UID{"web", "job"}, f.kept, "what is asked after housekeeping")

		n.Delete("job")
		ended, err := n.Evict("web", node.Eviction{Message: "no room"})
		require.NoError(t, err)
		require.NoError(t, ended.Wait(t.Context()))
		time.Sleep(5 * time.Second)
		assert.Equal(t, map[string]v1.PodPhase{"web": v1.PodFailed}, podPhases(n.Node))
		assert.Equal(t, "sync, stop, clean up", f.callsFor("job"))
		assert.Equal(t, "sync, stop, clean up", f.callsFor("web"))
		assert.Empty(t, machine.Snapshot(), "the runtime has not been asked for anything")
		assert.Equal(t, []types.UID{"web"}, f.kept)

		require.NoError(t, n.Apply(newPod("bad")))
		time.Sleep(time.Second)
		assert.ErrorContains(t, n.Health().Err, "SyncPod", "a panic of the PodSyncer costs that call")
		require.NoError(t, n.stopNode())
	})
}

func podPhases(n *node.Node) map[string]v1.PodPhase {
	all := make(map[string]v1.PodPhase)
	for _, p := range n.Pods() {
		all[p.Name] = p.Status.Phase
	}
	return all
}

// wrapped is the reference PodSyncer with something of one's own before it. The methods
// of podsync.Syncer that are not podworkers.PodSyncer's are there too.
type wrapped struct {
	*podsync.Syncer
	before func(pod *v1.Pod) error
}

func (w wrapped) SyncPod(ctx context.Context, kind podworkers.SyncPodType, pod, mirror *v1.Pod, seen *runtime.PodStatus) (bool, error) {
	if err := w.before(pod); err != nil {
		return false, err
	}
	return w.Syncer.SyncPod(ctx, kind, pod, mirror, seen)
}

// TestNode_NewSyncer_AroundTheReference: NewSyncer can wrap the default PodSyncer, and the node still
// rejects pods with unsupported fields.
func TestNode_NewSyncer_AroundTheReference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		n := runConfig(t, node.Config{Runtime: machine, NewSyncer: func(parts node.SyncerParts) (podworkers.PodSyncer, error) {
			assert.NotNil(t, parts.Runtime)
			assert.NotNil(t, parts.Prober)
			assert.NotNil(t, parts.PLEG)
			s, err := podsync.New(parts.Reference)
			return wrapped{s, func(pod *v1.Pod) error {
				if pod.Name == "late" {
					return errors.New("not yet")
				}
				return nil
			}}, err
		}})
		require.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(time.Second)
		assert.Equal(t, []string{"web/c"}, runningContainers(machine))
		require.NoError(t, n.Apply(newPod("late", "serve")))
		odd := newPod("odd", "serve")
		odd.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x"}}}}
		require.NoError(t, n.Apply(odd))
		time.Sleep(time.Second)
		assert.Equal(t, []string{"web/c"}, runningContainers(machine))
		e, _ := n.Explain("late")
		assert.Contains(t, e.Sentence, "not yet")
		e, _ = n.Explain("odd")
		assert.Equal(t, "UnsupportedField", e.Reason)
		require.NoError(t, n.stopNode())
	})
}

// TestNode_NewSyncer_Stability: a wrapper of the reference PodSyncer is called in every resync
// interval, although it has the IsStable of what it embeds, unless it asks for less.
func TestNode_NewSyncer_Stability(t *testing.T) {
	syncs := func(t *testing.T, less bool) int {
		var resyncs atomic.Int32
		synctest.Test(t, func(t *testing.T) {
			n := runConfig(t, node.Config{Sync: node.SyncConfig{Resync: time.Minute}, Jitter: func() float64 { return 0 }, NewSyncer: func(parts node.SyncerParts) (podworkers.PodSyncer, error) {
				s, err := podsync.New(parts.Reference)
				if less {
					parts.SetStability(s)
				}
				return wrapped{s, func(*v1.Pod) error { resyncs.Add(1); return nil }}, err
			}})
			require.NoError(t, n.Apply(newPod("web", "serve")))
			time.Sleep(30 * time.Second)
			resyncs.Store(0) // It has started.
			time.Sleep(5 * time.Minute)
			require.NoError(t, n.stopNode())
		})
		return int(resyncs.Load())
	}
	assert.Equal(t, 5, syncs(t, false))
	assert.Equal(t, 0, syncs(t, true))
}

// TestNode_NewSyncer_Faults: New returns the errors of NewSyncer.
func TestNode_NewSyncer_Faults(t *testing.T) {
	for want, f := range map[string]func(node.SyncerParts) (podworkers.PodSyncer, error){
		"node: Config.NewSyncer: no room":              func(node.SyncerParts) (podworkers.PodSyncer, error) { return nil, errors.New("no room") },
		"node: Config.NewSyncer returned no PodSyncer": func(node.SyncerParts) (podworkers.PodSyncer, error) { return nil, nil },
	} {
		_, err := node.New(node.Config{NewSyncer: f})
		assert.EqualError(t, err, want)
	}
}
