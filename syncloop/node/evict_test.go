package node_test

import (
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
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/node"
)

// ends records the events with the reason why a pod terminates.
type ends struct {
	mu   sync.Mutex
	said []string
}

func (e *ends) Eventf(o k8sruntime.Object, kind, reason, format string, args ...any) {
	e.Event(o, kind, reason, fmt.Sprintf(format, args...))
}

func (e *ends) Event(o k8sruntime.Object, kind, reason, message string) {
	if reason != "Evicted" && reason != syncloop.ReasonDeadlineExceeded {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.said = append(e.said, fmt.Sprint(o.(*v1.Pod).Name, " ", kind, " ", reason, ": ", message))
}

func (e *ends) allEnds() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.said)
}

// podIgnoringTerm returns a pod that runs until the end of its grace period when it is stopped.
func podIgnoringTerm(name string) *v1.Pod {
	p := newPod(name, "serve")
	p.Spec.TerminationGracePeriodSeconds = new(int64(20))
	p.Annotations = map[string]string{"memory.podkeel.dev/c": "run=forever ignore-term"}
	return p
}

func TestNode_EV4_P22_Evict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, machine := &ends{}, memory.New(memory.Config{})
		n := runConfig(t, node.Config{Runtime: machine, Recorder: events})
		require.NoError(t, n.Apply(podIgnoringTerm("web")))
		time.Sleep(time.Second)
		begun := time.Now()
		first, err := n.Evict("web", node.Eviction{Message: "low on memory"})
		require.NoError(t, err)
		time.Sleep(time.Second)
		second, err := n.Evict("web", node.Eviction{Reason: "Other", Message: "again", GraceSeconds: new(int64(7))})
		require.NoError(t, err)
		require.NoError(t, first.Wait(t.Context()))
		require.NoError(t, second.Wait(t.Context()))
		assert.Equal(t, 8*time.Second, time.Since(begun), "the harder one counts, from when it came")
		synctest.Wait()

		status := n.Pods()[0].Status
		assert.Equal(t, "Failed Evicted low on memory", fmt.Sprint(status.Phase, " ", status.Reason, " ", status.Message))
		i := slices.IndexFunc(status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.DisruptionTarget })
		require.GreaterOrEqual(t, i, 0)
		assert.Equal(t, "True TerminationByKubelet low on memory",
			fmt.Sprint(status.Conditions[i].Status, " ", status.Conditions[i].Reason, " ", status.Conditions[i].Message))
		assert.Equal(t, []string{"web Warning Evicted: low on memory"}, events.allEnds(), "it is said once")

		third, err := n.Evict("web", node.Eviction{})
		require.NoError(t, err)
		assert.NoError(t, third.Wait(t.Context()), "nothing of it runs")
		assert.Len(t, events.allEnds(), 1)
		assert.Empty(t, runningContainers(machine))
		require.NoError(t, n.stopNode())
	})
}

// TestNode_Evict_Spared: whom Evict refuses, and how that is overruled.
func TestNode_Evict_Spared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := source.NewHandle()
		require.NoError(t, files.Apply(newPod("static", "serve")))
		n := runConfig(t, node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}, Scheduling: node.SchedulingConfig{MaxPods: 2}})
		critical := newPod("critical", "serve")
		critical.Spec.Priority = new(int32(2_000_000_000))
		require.NoError(t, n.Apply(critical))
		time.Sleep(time.Second)
		require.NoError(t, n.Apply(newPod("refused", "serve")))
		time.Sleep(time.Second)
		for _, uid := range []types.UID{"static", "critical"} {
			_, err := n.Evict(uid, node.Eviction{})
			assert.ErrorIs(t, err, node.ErrNotEvictable, uid)
		}
		for _, uid := range []types.UID{"refused", "unheard-of"} {
			_, err := n.Evict(uid, node.Eviction{Force: true})
			assert.ErrorIs(t, err, node.ErrUnknownPod, uid)
		}
		done, err := n.Evict("static", node.Eviction{Force: true})
		require.NoError(t, err)
		assert.NoError(t, done.Wait(t.Context()))
		require.NoError(t, n.stopNode())
		_, err = n.Evict("critical", node.Eviction{Force: true})
		assert.ErrorIs(t, err, node.ErrStopped)
		assert.ErrorIs(t, n.Drain(t.Context(), node.DrainOptions{}), node.ErrStopped)
		assert.ErrorIs(t, n.Drain(t.Context(), node.DrainOptions{GraceSeconds: new(int64(1))}), node.ErrStopped)
		assert.ErrorIs(t, n.Drain(t.Context(), node.DrainOptions{Groups: node.ShutdownGroups(time.Minute, 0)}), node.ErrStopped)
		assert.False(t, n.Health().ShuttingDown)
	})
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{Scheduling: node.SchedulingConfig{Evictable: func(p *v1.Pod) bool { return strings.HasPrefix(p.Name, "batch") }}})
		require.NoError(t, n.Apply(newPod("batch-1", "serve")))
		require.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(time.Second)
		_, err := n.Evict("web", node.Eviction{})
		assert.ErrorIs(t, err, node.ErrNotEvictable)
		_, err = n.Evict("batch-1", node.Eviction{})
		assert.NoError(t, err)
		require.NoError(t, n.stopNode())
	})
}

// TestNode_EvictedAtItsDeadline: whichever comes first is the reason, and the
// other takes nothing back, not even at the same instant.
func TestNode_EvictedAtItsDeadline(t *testing.T) {
	for at, want := range map[time.Duration][]string{
		9 * time.Second:  {"Evicted"},
		10 * time.Second: {"Evicted", syncloop.ReasonDeadlineExceeded},
		11 * time.Second: {syncloop.ReasonDeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := runConfig(t, node.Config{})
			p := podIgnoringTerm("web")
			p.Spec.ActiveDeadlineSeconds = new(int64(10))
			require.NoError(t, n.Apply(p))
			var said []string
			go func() {
				for state := range n.Watch(t.Context()) {
					if r := state.Pod.Status.Reason; r != "" && !slices.Contains(said, r) {
						said = append(said, r)
					}
				}
			}()
			time.Sleep(at)
			done, err := n.Evict("web", node.Eviction{GraceSeconds: new(int64(5))})
			require.NoError(t, err)
			require.NoError(t, done.Wait(t.Context()))
			synctest.Wait()
			require.Len(t, said, 1, "one reason, from the first to the last word")
			assert.Contains(t, want, said[0])
			require.NoError(t, n.stopNode())
		})
	}
}

// TestNode_P23_DeadlineOverARestart: the active deadline includes the time without an agent, and a pod
// past its deadline does not start again.
func TestNode_P23_DeadlineOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, machine := &ends{}, memory.New(memory.Config{})
		p := newPod("web", "serve")
		p.Spec.ActiveDeadlineSeconds = new(int64(30))
		first := runConfig(t, node.Config{Runtime: machine})
		require.NoError(t, first.Apply(p))
		time.Sleep(10 * time.Second)
		require.NoError(t, first.stopNode())
		time.Sleep(10 * time.Second)
		n, err := node.New(node.Config{Runtime: machine, Recorder: events})
		require.NoError(t, err)
		require.NoError(t, n.Apply(p))
		r := runNode(t, n)
		time.Sleep(9 * time.Second)
		assert.Len(t, runningContainers(machine), 1)
		time.Sleep(2 * time.Second)
		assert.Empty(t, runningContainers(machine))
		assert.Equal(t, syncloop.ReasonDeadlineExceeded, r.Pods()[0].Status.Reason)
		require.NoError(t, r.stopNode())

		again, err := node.New(node.Config{Runtime: machine, Recorder: events})
		require.NoError(t, err)
		require.NoError(t, again.Apply(p))
		r = runNode(t, again)
		time.Sleep(time.Minute)
		assert.Empty(t, runningContainers(machine), "its time is over")
		assert.Equal(t, syncloop.ReasonDeadlineExceeded, r.Pods()[0].Status.Reason)
		assert.Len(t, machine.Snapshot()[0].Containers, 1, "nothing was started again")
		assert.Len(t, events.allEnds(), 2, "each agent says it once")
		require.NoError(t, r.stopNode())
	})
}
