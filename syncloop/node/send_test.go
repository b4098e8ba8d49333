package node_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podmanager/status/statustest"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// sink records the statuses that it receives. Its first call fails.
type sink struct {
	began time.Time
	mu    sync.Mutex
	calls int
	lines []string
}

func (s *sink) Send(_ context.Context, u status.Update) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.calls == 1 {
		return errors.New("not now")
	}
	s.lines = append(s.lines, fmt.Sprintf("%s %s %s removed=%t", time.Since(s.began), u.Pod.Name, u.Status.Phase, u.Removed))
	return nil
}

// lastLine returns the newest line about a pod.
func (s *sink) lastLine(name string) (newest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		if strings.Contains(line, " "+name+" ") {
			newest = line
		}
	}
	return newest
}

// TestNode_Sink: the sink receives statuses, also after the end of Run's context, and a terminal status
// only when no container of the pod runs (ST-12, ST-15, ST-17).
func TestNode_Sink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &sink{began: time.Now()}
		n := runConfig(t, node.Config{Statuses: node.StatusesConfig{Sink: told}})
		job := newPod("job", "sh", "-c", "sleep 5; exit 0")
		job.Spec.RestartPolicy = v1.RestartPolicyNever
		require.NoError(t, n.Apply(job))
		time.Sleep(10 * time.Second)
		require.NoError(t, n.stopNode())
		require.NotEmpty(t, told.lines)
		assert.Equal(t, "1s job Running removed=false", told.lines[0], "the first call is made again")
		assert.Equal(t, "5s job Succeeded removed=false", told.lines[len(told.lines)-1])
	})
}

// ST-17: a terminal status is shown and sent when no container of the pod runs. A rejection, of a pod
// that never ran, is sent at once.
func TestNode_ST17_EndIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &sink{began: time.Now(), calls: 1}
		n := runConfig(t, node.Config{Statuses: node.StatusesConfig{Sink: told}, Sync: node.SyncConfig{Resync: time.Hour}})
		require.NoError(t, n.Apply(podIgnoringTerm("web")))
		time.Sleep(10 * time.Second)
		_, err := n.Evict("web", node.Eviction{Message: "low on memory"})
		require.NoError(t, err)
		bad := newPod("bad", "serve")
		bad.Spec.OS = &v1.PodOS{Name: v1.Windows}
		require.NoError(t, n.Apply(bad))
		time.Sleep(time.Second)
		phases := map[string]v1.PodPhase{}
		for _, p := range n.Pods() {
			phases[p.Name] = p.Status.Phase
		}
		assert.Equal(t, map[string]v1.PodPhase{"web": v1.PodRunning, "bad": v1.PodFailed}, phases)
		time.Sleep(time.Minute)
		require.NoError(t, n.stopNode())
		ends := map[string][]string{}
		for _, line := range told.lines {
			var at, name, phase string
			_, err := fmt.Sscan(line, &at, &name, &phase)
			require.NoError(t, err)
			if phase == string(v1.PodFailed) {
				ends[name] = append(ends[name], at)
			}
		}
		assert.Equal(t, []string{"30s"}, slices.Compact(ends["web"]), "%q", told.lines)
		assert.Equal(t, []string{"10s"}, ends["bad"], "%q", told.lines)
	})
}

// Item 43, ST-17: a pod that is stopping when the node ends does not hold that up, and is no
// status that was not sent.
func TestNode_Item43_ST17_EndsWhileAPodIsStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &sink{began: time.Now(), calls: 1}
		n := runConfig(t, node.Config{Statuses: node.StatusesConfig{Sink: told}, Sync: node.SyncConfig{Resync: time.Hour}})
		require.NoError(t, n.Apply(podIgnoringTerm("web")))
		time.Sleep(10 * time.Second)
		told.mu.Lock()
		told.lines = nil
		told.mu.Unlock()
		_, err := n.Evict("web", node.Eviction{Message: "low on memory"})
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		ended := time.Now()
		require.NoError(t, n.stopNode())
		assert.Zero(t, time.Since(ended))
		assert.Equal(t, []string{"10s web Running removed=false"}, told.lines)
	})
}

// waiting writes down why the first container of a pod waits.
type waiting struct{ reasons []string }

func (w *waiting) Send(_ context.Context, u status.Update) error {
	if all := u.Status.ContainerStatuses; len(all) > 0 && all[0].State.Waiting != nil {
		w.reasons = append(w.reasons, all[0].State.Waiting.Reason)
	}
	return nil
}

// ST-17: until each source has delivered its first snapshot, a pod without a worker could be a running pod, so its
// terminal status is held back. A rejected pod is the exception: it runs nothing, and its status is sent.
func TestNode_ST17_RefusedBeforeEverySourceIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &sink{began: time.Now(), calls: 1}
		n := runConfig(t, node.Config{Statuses: node.StatusesConfig{Sink: told}, Scheduling: node.SchedulingConfig{MaxPods: 1}, Pods: node.PodsConfig{Sources: map[string]source.Source{"file": silent{}}}})
		require.NoError(t, n.Apply(newPod("first", "serve")))
		time.Sleep(2 * time.Second)
		require.NoError(t, n.Apply(newPod("refused", "serve")))
		time.Sleep(3 * time.Second)
		require.Error(t, n.Health().Waiting)
		assert.Equal(t, "3s refused Failed removed=false", told.lastLine("refused"), "when snapshots are waited for no longer")
		require.NoError(t, n.stopNode())
	})
}

// TestNode_Sink_ToldOfTheEnd: the result of a call that runs at the end of Run's context is sent too.
func TestNode_Sink_ToldOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, err := faulty.New(faulty.Config{Rules: []faulty.Rule{{Verb: faulty.CreateContainer, Latency: 5 * time.Second, Do: faulty.Fail}}})
		require.NoError(t, err)
		told := &waiting{}
		n := runConfig(t, node.Config{Statuses: node.StatusesConfig{Sink: told}, Runtime: rules.Wrap(memory.New(memory.Config{}), nil)})
		require.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"ContainerCreating"}, slices.Compact(told.reasons))
		require.NoError(t, n.stopNode())
		assert.Equal(t, []string{"ContainerCreating", "CreateContainerError"}, slices.Compact(told.reasons))
	})
}

// TestSink_KeepsTheContract: the sinks of these tests are held to what others are.
func TestSink_KeepsTheContract(t *testing.T) {
	statustest.RunSink(t, func(*testing.T) statustest.SinkUnderTest {
		var (
			mu     sync.Mutex
			stored = make(map[types.UID]v1.PodStatus)
		)
		return statustest.SinkUnderTest{
			Sink: sinkFunc(func(u status.Update) {
				mu.Lock()
				defer mu.Unlock()
				stored[u.UID] = u.Status
			}),
			Read: func(uid types.UID) (v1.PodStatus, bool) {
				mu.Lock()
				defer mu.Unlock()
				s, ok := stored[uid]
				return s, ok
			},
		}
	})
}
