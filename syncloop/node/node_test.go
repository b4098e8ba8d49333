package node_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newPod(name string, command ...string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "img:1", Command: command}}},
	}
}

// runningParts is a node that runs in a bubble until the test ends it.
type runningParts struct {
	*node.Node
	remove context.CancelFunc
	over   sync.WaitGroup
	err    error
}

// runConfig creates and runs a node. The caller is in a bubble.
func runConfig(t *testing.T, config node.Config) *runningParts {
	t.Helper()
	n, err := node.New(config)
	require.NoError(t, err)
	return runNode(t, n)
}

// runNode runs a node. The caller is in a bubble.
func runNode(t *testing.T, n *node.Node) *runningParts {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	r := &runningParts{Node: n, remove: end}
	r.over.Go(func() { r.err = n.Run(ctx) })
	synctest.Wait()
	return r
}

func (r *runningParts) stopNode() error {
	r.remove()
	r.over.Wait()
	return r.err
}

// runningContainers returns the running containers of a machine as pod/container.
func runningContainers(machine *memory.Runtime) (list []string) {
	for _, p := range machine.Snapshot() {
		for _, c := range p.Containers {
			if c.State == runtime.StateRunning {
				list = append(list, p.Name+"/"+c.Name)
			}
		}
	}
	return list
}

func TestNode_ReadyDoneErr(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := node.New(node.Config{})
		require.NoError(t, err)
		require.EqualError(t, n.Health().Waiting, "node: not every source has delivered its pods")
		ctx, end := context.WithCancel(t.Context())
		var over sync.WaitGroup
		over.Go(func() { assert.NoError(t, n.Run(ctx)) })
		<-n.Ready()
		assert.NoError(t, n.Health().Waiting)
		assert.NoError(t, n.Health().Err)
		end()
		<-n.Done()
		over.Wait()
		assert.NoError(t, n.Err())
		err = n.Run(t.Context())
		assert.ErrorIs(t, err, runtime.ErrSecondRun)
		assert.EqualError(t, err, "node: Run was called a second time")
	})
}

func TestNode_ConfigNamesEveryFault(t *testing.T) {
	_, err := node.New(node.Config{
		Scheduling: node.SchedulingConfig{MaxPods: -1}, Sync: node.SyncConfig{MaxSyncs: -1, Resync: -1, Relist: -1, Housekeeping: -1}, Statuses: node.StatusesConfig{MaxSends: -1, SendDelay: -1},
	})
	require.EqualError(t, err, strings.Join([]string{
		"node: Config.Scheduling.MaxPods is negative",
		"node: Config.Sync.MaxSyncs is negative",
		"node: Config.Statuses.MaxSends is negative",
		"node: Config.Statuses.SendDelay is negative",
		"node: Config.Sync.Resync is negative",
		"node: Config.Sync.Relist is negative",
		"node: Config.Sync.Housekeeping is negative",
	}, "\n"), "always in this order")
}

// TestNode_SetBeforeRunAdopts: pods that are applied before Run keep running over a restart of the
// agent, with the same container (I35). Other pods are terminated (I34).
func TestNode_SetBeforeRunAdopts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		first := runConfig(t, node.Config{Runtime: machine})
		require.NoError(t, first.Apply(newPod("keep", "serve")))
		require.NoError(t, first.Apply(newPod("forget", "serve")))
		synctest.Wait()
		require.NoError(t, first.stopNode())
		before := machine.Snapshot()

		n, err := node.New(node.Config{Runtime: machine})
		require.NoError(t, err)
		require.NoError(t, n.Apply(newPod("keep", "serve")))
		ctx, end := context.WithCancel(t.Context())
		var over sync.WaitGroup
		over.Go(func() { assert.NoError(t, n.Run(ctx)) })
		time.Sleep(time.Minute)
		after := machine.Snapshot()
		require.Len(t, after, 1, "the records of the other are gone too")
		assert.Equal(t, before[1], after[0])
		end()
		over.Wait()
	})
}

// TestNode_AwaitHost: nothing that runs is ended before the host program has
// said everything (I47).
func TestNode_AwaitHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		first := runConfig(t, node.Config{Runtime: machine})
		require.NoError(t, first.Apply(newPod("a", "serve")))
		require.NoError(t, first.Apply(newPod("b", "serve")))
		synctest.Wait()
		require.NoError(t, first.stopNode())

		n := runConfig(t, node.Config{Runtime: machine, Pods: node.PodsConfig{AwaitHost: true}})
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"a/c", "b/c"}, runningContainers(machine), "it has not been told anything yet")
		require.NoError(t, n.Apply(newPod("a", "serve")))
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"a/c", "b/c"}, runningContainers(machine), "it has not been told everything yet")
		n.SetComplete()
		n.SetComplete()
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"a/c"}, runningContainers(machine))
		require.NoError(t, n.stopNode())
	})
}

func TestNode_Drain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		n := runConfig(t, node.Config{Runtime: machine})
		deaf := newPod("deaf", "serve")
		deaf.Spec.TerminationGracePeriodSeconds = new(int64(20))
		deaf.Annotations = map[string]string{"memory.podkeel.dev/c": "run=forever ignore-term"}
		require.NoError(t, n.Apply(deaf))
		require.NoError(t, n.Apply(newPod("web", "serve")))
		synctest.Wait()

		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := n.Drain(short, node.DrainOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "default/deaf has not terminated")
		assert.NotContains(t, err.Error(), "web")

		begun := time.Now()
		require.NoError(t, n.Drain(t.Context(), node.DrainOptions{}))
		assert.Equal(t, 15*time.Second, time.Since(begun), "the grace goes on counting")
		assert.Empty(t, runningContainers(machine))

		require.NoError(t, n.Apply(newPod("late", "serve")))
		time.Sleep(time.Minute)
		assert.Empty(t, runningContainers(machine))
		for _, p := range n.Pods() {
			if p.Name == "late" {
				assert.Equal(t, "NodeShutdown", p.Status.Reason)
			}
		}
		require.NoError(t, n.stopNode())
	})
}

// TestNode_DrainAwaitsWhatWasDropped: a pod that is on its way out already still
// has its grace, and Drain waits for it.
func TestNode_DrainAwaitsWhatWasDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		n := runConfig(t, node.Config{Runtime: machine})
		deaf := newPod("deaf", "serve")
		deaf.Spec.TerminationGracePeriodSeconds = new(int64(20))
		deaf.Annotations = map[string]string{"memory.podkeel.dev/c": "run=forever ignore-term"}
		require.NoError(t, n.Apply(deaf))
		time.Sleep(time.Second)
		n.Delete(deaf.UID)
		time.Sleep(5 * time.Second)

		begun := time.Now()
		require.NoError(t, n.Drain(t.Context(), node.DrainOptions{}))
		assert.Equal(t, 15*time.Second, time.Since(begun), "the grace goes on counting")
		assert.Empty(t, runningContainers(machine))
		require.NoError(t, n.stopNode())
	})
}

// TestNode_RunNamesTheStuck: a runtime that ignores cancellation holds up Run
// for the drain timeout and no longer (I43).
func TestNode_RunNamesTheStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, err := faulty.New(faulty.Config{Rules: []faulty.Rule{{Verb: faulty.StartContainer, Pod: "stuck", Latency: time.Hour}}})
		require.NoError(t, err)
		n := runConfig(t, node.Config{Runtime: rules.Wrap(memory.New(memory.Config{}), nil), Sync: node.SyncConfig{DrainTimeout: 10 * time.Second}})
		require.NoError(t, n.Apply(newPod("stuck", "serve")))
		require.NoError(t, n.Apply(newPod("fine", "serve")))
		synctest.Wait()
		begun := time.Now()
		err = n.stopNode()
		require.ErrorIs(t, err, podworkers.ErrNotDrained)
		assert.ErrorContains(t, err, "default/stuck")
		assert.NotContains(t, err.Error(), "fine")
		assert.Equal(t, 10*time.Second, time.Since(begun))
		time.Sleep(2 * time.Hour) // The worker's goroutine returns when its call does.
	})
}

// numb is a runtime that ignores its context when it is asked for a list of pods.
type numb struct{ runtime.Runtime }

// ListPods implements runtime.PodLister.
func (n numb) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	_ = executor.Over(nil).Sleep(context.Background(), time.Hour)
	return n.Runtime.ListPods(ctx)
}

// TestNode_I43_RunNamesTheRest: so it does for a part that is not known to be held up.
func TestNode_I43_RunNamesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volumes := inmemory.New(inmemory.Config{})
		n := runConfig(t, node.Config{Runtime: numb{memory.New(memory.Config{})}, Volumes: node.VolumesConfig{Manager: volumes, Files: volumes}, Sync: node.SyncConfig{DrainTimeout: 10 * time.Second}})
		time.Sleep(time.Second)
		begun := time.Now()
		err := n.stopNode()
		require.ErrorIs(t, err, node.ErrNotDrained)
		assert.EqualError(t, err, "node: parts are still running after their context has ended: pleg")
		assert.Equal(t, 15*time.Second, time.Since(begun))
		time.Sleep(3 * time.Hour)
	})
}

// TestNode_I39_HungPod: a pod whose runtime calls hang disturbs no other.
func TestNode_I39_HungPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		rules, err := faulty.New(faulty.Config{Rules: []faulty.Rule{{UID: "hung", Do: faulty.Hang}}})
		require.NoError(t, err)
		n := runConfig(t, node.Config{Runtime: rules.Wrap(machine, nil)})
		require.NoError(t, n.Apply(newPod("hung", "serve")))
		synctest.Wait()
		for i := range 20 {
			require.NoError(t, n.Apply(newPod(fmt.Sprintf("fine-%02d", i), "serve")))
		}
		synctest.Wait()
		assert.Len(t, runningContainers(machine), 20, "at the same instant")
		assert.ErrorIs(t, n.stopNode(), podworkers.ErrNotDrained, "a start that was sent is not taken back")
		time.Sleep(time.Hour)
	})
}

// TestNode_WatchShowsALife: every watcher sees the whole lifecycle of a pod, and Gone as its last
// state.
func TestNode_WatchShowsALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{})
		var seen []string
		ctx, stop := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() {
			for s := range n.Watch(ctx) {
				seen = append(seen, fmt.Sprintf("%s %s gone=%t", s.Pod.Name, s.Summary(), s.Gone))
			}
		})
		synctest.Wait()
		require.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(5 * time.Second)
		n.Delete("web")
		time.Sleep(time.Minute)
		stop()
		watching.Wait()
		require.NotEmpty(t, seen)
		assert.Contains(t, seen, "web 1/1 Running gone=false")
		assert.Equal(t, "web 0/1 Error gone=true", seen[len(seen)-1])
		require.NoError(t, n.stopNode())
	})
}

// TestNode_WatchShowsWhatIsWanted: a new label changes nothing that runs, and is
// shown all the same.
func TestNode_WatchShowsWhatIsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{Name: "Edge-1"})
		require.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(5 * time.Second)
		var labels []string
		ctx, stop := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() {
			for s := range n.Watch(ctx) {
				labels = append(labels, s.Pod.Labels["tier"]+"@"+s.Pod.Spec.NodeName)
			}
		})
		synctest.Wait()
		labelled := newPod("web", "serve")
		labelled.Labels = map[string]string{"tier": "front"}
		require.NoError(t, n.Apply(labelled))
		time.Sleep(5 * time.Second)
		stop()
		watching.Wait()
		assert.Equal(t, []string{"@edge-1", "front@edge-1"}, labels)
		require.NoError(t, n.stopNode())
	})
}

// TestNode_ManyInOneProcess: nodes in one process share only the objects that the caller passes to
// them.
func TestNode_ManyInOneProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes []*runningParts
		var machines []*memory.Runtime
		for i := range 8 {
			machines = append(machines, memory.New(memory.Config{}))
			nodes = append(nodes, runConfig(t, node.Config{Name: fmt.Sprint("n", i), Runtime: machines[i]}))
			require.NoError(t, nodes[i].Apply(newPod(fmt.Sprint("pod-", i), "serve")))
		}
		synctest.Wait()
		for i, n := range nodes {
			assert.Equal(t, []string{fmt.Sprintf("pod-%d/c", i)}, runningContainers(machines[i]))
			require.NoError(t, n.stopNode())
		}
	})
}

// TestNode_BadPods: Apply refuses a pod that cannot run, with a sentence, and running pods continue.
func TestNode_BadPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		n := runConfig(t, node.Config{Runtime: machine})
		require.NoError(t, n.Apply(newPod("web", "serve")))
		assert.ErrorIs(t, n.Apply(nil), source.ErrInvalid)
		assert.ErrorIs(t, n.Apply(&v1.Pod{}), source.ErrInvalid)
		twin := newPod("web", "serve")
		twin.UID = "another"
		assert.ErrorIs(t, n.Apply(twin), source.ErrInvalid)
		bad := newPod("bad", "serve")
		bad.Spec.Containers = append(bad.Spec.Containers, bad.Spec.Containers[0])
		bad.Spec.RestartPolicy = "Sometimes"
		err := n.Apply(bad)
		assert.ErrorIs(t, err, source.ErrInvalid)
		assert.ErrorContains(t, err, "spec.restartPolicy")
		assert.ErrorContains(t, err, "spec.containers[1].name")
		n.Delete("nobody")
		mapped := newPod("mapped", "serve")
		mapped.Spec.HostUsers = new(false)
		require.NoError(t, n.Apply(mapped))
		synctest.Wait()
		assert.Equal(t, []string{"web/c"}, runningContainers(machine))
		for _, p := range n.Pods() {
			if p.Name == "mapped" {
				assert.Equal(t, v1.PodFailed, p.Status.Phase)
				assert.Contains(t, p.Status.Message, "spec.hostUsers")
			}
		}
		require.NoError(t, n.stopNode())
	})
}

// TestNode_Replace: many at once, or none of them; and nothing after the end.
func TestNode_Replace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		n := runConfig(t, node.Config{Runtime: machine})
		require.NoError(t, n.Replace([]*v1.Pod{newPod("a", "serve"), newPod("b", "serve")}))
		synctest.Wait()
		assert.Equal(t, []string{"a/c", "b/c"}, runningContainers(machine))
		bad := newPod("d", "serve")
		bad.Spec.Containers[0].Image = ""
		assert.ErrorIs(t, n.Replace([]*v1.Pod{newPod("c", "serve"), bad}), source.ErrInvalid)
		require.NoError(t, n.Replace([]*v1.Pod{newPod("b", "serve")}))
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"b/c"}, runningContainers(machine))
		require.NoError(t, n.stopNode())
		assert.ErrorIs(t, n.Apply(newPod("late", "serve")), node.ErrStopped)
		assert.ErrorIs(t, n.Replace([]*v1.Pod{newPod("late", "serve")}), node.ErrStopped)
	})
}

// TestNode_I28_FormerLife: a watcher that waits for a ready pod does not see the readiness of its
// previous incarnation.
func TestNode_I28_FormerLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{})
		old := newPod("web", "serve")
		old.Annotations = map[string]string{"memory.podkeel.dev/c": "run=forever ignore-term"}
		require.NoError(t, n.Apply(old))
		synctest.Wait()
		n.Delete("web")
		synctest.Wait()
		again := newPod("web", "serve")
		again.Spec.Containers = append(again.Spec.Containers, v1.Container{Name: "second", Image: "img:1"})
		require.NoError(t, n.Apply(again))
		synctest.Wait()
		require.Len(t, n.Pods()[0].Spec.Containers, 2)
		assert.Equal(t, v1.PodStatus{Phase: v1.PodPending}, n.Pods()[0].Status)
		for state := range n.Watch(t.Context()) {
			assert.Equal(t, "1/1 Terminating", state.Summary().String(), "what there is to see is the old one")
			break
		}
		time.Sleep(time.Minute)
		assert.Equal(t, "2/2", node.Summarize(n.Pods()[0], false).Ready)
		require.NoError(t, n.stopNode())
	})
}

// TestNode_I28_FormerLifeOfOneThatAwaitsASlot: a pod of a used UID that has a worker but was not synced
// yet, because all slots are busy, is never shown with the status of its predecessor. StatusEpoch never
// decreases.
func TestNode_I28_FormerLifeOfOneThatAwaitsASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, err := faulty.New(faulty.Config{Rules: []faulty.Rule{{Verb: faulty.StartContainer, Pod: "slow", Latency: time.Minute}}})
		require.NoError(t, err)
		n := runConfig(t, node.Config{Runtime: rules.Wrap(memory.New(memory.Config{}), nil), Sync: node.SyncConfig{MaxSyncs: 1}})
		old := newPod("web", "serve")
		old.Annotations = map[string]string{"memory.podkeel.dev/c": "run=forever ignore-term"}
		old.Spec.TerminationGracePeriodSeconds = new(int64(10))
		require.NoError(t, n.Apply(old))
		time.Sleep(5 * time.Second)

		var seen []string
		life := uint64(0)
		note := func(state node.PodState) {
			assert.GreaterOrEqual(t, state.StatusEpoch, life, "it never goes down")
			life = state.StatusEpoch
			if state.Summary().String() == "0/1 ContainerCreating" {
				return // It lasts for no time, so a watcher that sleeps may miss it.
			}
			if line := fmt.Sprintf("life %d %s gone=%t", state.StatusEpoch, state.Summary(), state.Gone); len(seen) == 0 || seen[len(seen)-1] != line {
				seen = append(seen, line)
			}
		}
		watching, stop := context.WithCancel(t.Context())
		var over sync.WaitGroup
		over.Go(func() { // One that looks once in a while, and sees few of the states between.
			for state := range n.Watch(watching) {
				if state.Pod.Name == "web" {
					note(state)
					time.Sleep(7 * time.Second)
				}
			}
		})
		synctest.Wait()
		n.Delete("web")
		time.Sleep(time.Second)
		require.NoError(t, n.Apply(newPod("web", "serve")))
		require.NoError(t, n.Apply(newPod("slow", "serve")))
		time.Sleep(20 * time.Second) // The old one has ended; the slot is busy.
		for state := range n.Watch(t.Context()) {
			if state.Pod.Name == "web" {
				assert.Equal(t, "0/1 Pending", state.Summary().String())
				assert.Equal(t, uint64(1), state.StatusEpoch, "the next one's")
				break
			}
		}
		for _, p := range n.Pods() {
			if p.Name == "web" {
				assert.Equal(t, v1.PodStatus{Phase: v1.PodPending}, p.Status)
			}
		}
		time.Sleep(2 * time.Minute)
		n.Delete("web")
		time.Sleep(2 * time.Minute)
		stop()
		over.Wait()
		require.GreaterOrEqual(t, len(seen), 4)
		assert.Equal(t, []string{
			"life 0 1/1 Running gone=false", "life 0 1/1 Terminating gone=false",
			"life 1 0/1 Pending gone=false", "life 1 1/1 Running, 1 restart gone=false",
		}, seen[:4])
		require.NoError(t, n.stopNode())
	})
}

// TestNode_DrainBeforeRunChangesNothing: a call that fails has done nothing.
func TestNode_DrainBeforeRunChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := node.New(node.Config{})
		require.NoError(t, err)
		require.NoError(t, n.Apply(newPod("web", "serve")))
		require.ErrorIs(t, n.Drain(t.Context(), node.DrainOptions{}), node.ErrNotRunning)
		r := runNode(t, n)
		time.Sleep(time.Minute)
		assert.Equal(t, "1/1 Running", node.Summarize(n.Pods()[0], false).String())
		require.NoError(t, n.Drain(t.Context(), node.DrainOptions{}))
		require.NoError(t, r.stopNode())
	})
}

// TestNode_DrainedPodsSayWhy: as at a shutdown of the kubelet's node (SD-3), whatever
// their restart policy; what had ended before keeps its own reason, and nothing of
// that is kept for the next agent, which may run them again.
func TestNode_DrainedPodsSayWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		store, sent := &kept{}, map[string]v1.PodStatus{}
		n := runConfig(t, node.Config{Pods: node.PodsConfig{TerminalStatuses: store}, Statuses: node.StatusesConfig{Sink: sinkFunc(func(u status.Update) {
			mu.Lock()
			defer mu.Unlock()
			sent[string(u.UID)] = u.Status
		})}})
		for name, policy := range map[string]v1.RestartPolicy{"always": v1.RestartPolicyAlways, "never": v1.RestartPolicyNever, "failure": v1.RestartPolicyOnFailure} {
			p := newPod(name, "serve")
			p.Spec.RestartPolicy = policy
			require.NoError(t, n.Apply(p))
		}
		done := newPod("done", "true")
		done.Spec.RestartPolicy = v1.RestartPolicyNever
		require.NoError(t, n.Apply(done))
		require.NoError(t, n.Apply(newPod("evicted", "serve")))
		time.Sleep(time.Second)
		_, err := n.Evict("evicted", node.Eviction{})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.NoError(t, n.Drain(t.Context(), node.DrainOptions{}))
		require.NoError(t, n.stopNode())
		const message = "Pod was terminated in response to imminent node shutdown."
		for _, name := range []string{"always", "never", "failure"} {
			s := sent[name]
			assert.Equal(t, "Failed Terminated "+message, fmt.Sprint(s.Phase, " ", s.Reason, " ", s.Message), name)
			i := slices.IndexFunc(s.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.DisruptionTarget })
			require.GreaterOrEqual(t, i, 0, name)
			c := s.Conditions[i]
			assert.Equal(t, "True TerminationByKubelet "+message, fmt.Sprint(c.Status, " ", c.Reason, " ", c.Message), name)
		}
		assert.Equal(t, "Succeeded ", fmt.Sprint(sent["done"].Phase, " ", sent["done"].Reason))
		assert.Equal(t, "Failed Evicted", fmt.Sprint(sent["evicted"].Phase, " ", sent["evicted"].Reason))
		assert.Equal(t, []string{"done Succeeded ", "evicted Failed Evicted"}, store.savedNames())
	})
}

// kept writes down which terminal statuses are kept.
type kept struct {
	mu    sync.Mutex
	names map[string]bool
}

func (k *kept) Save(pod *v1.Pod, s *v1.PodStatus) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.names == nil {
		k.names = map[string]bool{}
	}
	k.names[fmt.Sprint(pod.Name, " ", s.Phase, " ", s.Reason)] = true
	return nil
}

func (k *kept) savedNames() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.names))
}

func (*kept) Drop(types.UID) error                                { return nil }
func (*kept) Consume(*v1.Pod) (v1.PodStatus, bool)                { return v1.PodStatus{}, false }
func (*kept) Pods(func(types.UID) bool, int) ([]types.UID, error) { return nil, nil }

type sinkFunc func(status.Update)

func (f sinkFunc) Send(_ context.Context, u status.Update) error { f(u); return nil }

// TestNode_I11_StaticPodChangedWhileAgentWasDown: the old version of a manifest
// has ended before the new one starts, though the agent that started it is gone.
func TestNode_I11_StaticPodChangedWhileAgentWasDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		files := func(version string) map[string]source.Source {
			h := source.NewHandle()
			p := newPod("web", "serve")
			p.UID = types.UID(version)
			p.Annotations = map[string]string{"memory.podkeel.dev/c": "run=forever ignore-term"}
			require.NoError(t, h.Apply(p))
			return map[string]source.Source{"file": h}
		}
		first := runConfig(t, node.Config{Runtime: machine, Pods: node.PodsConfig{Sources: files("old")}})
		require.NoError(t, first.stopNode())
		second := runConfig(t, node.Config{Runtime: machine, Pods: node.PodsConfig{Sources: files("new")}})
		most := 0
		for range 4000 { // Its grace is 30 s.
			most = max(most, len(runningContainers(machine)))
			time.Sleep(10 * time.Millisecond)
		}
		assert.Equal(t, 1, most)
		require.Len(t, machine.Snapshot(), 1)
		assert.Equal(t, types.UID("new"), machine.Snapshot()[0].UID)
		require.NoError(t, second.stopNode())
	})
}

// TestNode_I35_WhatRunsIsNotRefused: after a restart a new pod does not take the place of a running
// one.
func TestNode_I35_WhatRunsIsNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		port := func(p *v1.Pod) *v1.Pod {
			p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
			return p
		}
		files := func() map[string]source.Source {
			h := source.NewHandle()
			require.NoError(t, h.Apply(port(newPod("dns", "serve"))))
			return map[string]source.Source{"file": h}
		}
		first := runConfig(t, node.Config{Runtime: machine, Pods: node.PodsConfig{Sources: files()}})
		require.NoError(t, first.Apply(port(newPod("late", "serve"))))
		synctest.Wait()
		require.NoError(t, first.stopNode())
		before := machine.Snapshot()
		n, err := node.New(node.Config{Runtime: machine, Pods: node.PodsConfig{Sources: files()}})
		require.NoError(t, err)
		require.NoError(t, n.Apply(port(newPod("late", "serve"))))
		ctx, end := context.WithCancel(t.Context())
		var over sync.WaitGroup
		over.Go(func() { assert.NoError(t, n.Run(ctx)) })
		time.Sleep(time.Minute)
		assert.Equal(t, before, machine.Snapshot())
		end()
		over.Wait()
	})
}

// TestNode_DrainLeavesNothingToStart: neither does a pod start after a drain
// that was let in before it and waited for its name, nor does a drain claim
// anything of a node that does not run.
func TestNode_DrainLeavesNothingToStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		machine.SetStatus(runtime.RuntimeStatus{RuntimeMessage: "it is down"})
		files := source.NewHandle()
		n, err := node.New(node.Config{Runtime: machine, Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}})
		require.NoError(t, err)
		require.ErrorIs(t, n.Drain(t.Context(), node.DrainOptions{}), node.ErrNotRunning)
		r := runNode(t, n)
		time.Sleep(5 * time.Second)
		require.NoError(t, files.Apply(newPod("static", "serve")))
		synctest.Wait()
		require.NoError(t, r.Drain(t.Context(), node.DrainOptions{}))
		machine.SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true})
		time.Sleep(time.Hour)
		assert.Empty(t, runningContainers(machine))
		require.Len(t, r.Pods(), 1)
		assert.Equal(t, "NodeShutdown", r.Pods()[0].Status.Reason)
		require.NoError(t, r.stopNode())
	})
}

// TestNode_DrainEndsWhatItAdopts: a drain right after a restart ends what ran
// before, with its own grace.
func TestNode_DrainEndsWhatItAdopts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		deaf := newPod("deaf", "serve")
		deaf.Spec.TerminationGracePeriodSeconds = new(int64(20))
		deaf.Annotations = map[string]string{"memory.podkeel.dev/c": "run=forever ignore-term"}
		first := runConfig(t, node.Config{Runtime: machine})
		require.NoError(t, first.Apply(deaf))
		synctest.Wait()
		require.NoError(t, first.stopNode())

		n, err := node.New(node.Config{Runtime: machine})
		require.NoError(t, err)
		require.NoError(t, n.Apply(deaf))
		ctx, end := context.WithCancel(t.Context())
		var over sync.WaitGroup
		over.Go(func() { assert.NoError(t, n.Run(ctx)) })
		synctest.Wait()
		begun := time.Now()
		require.NoError(t, n.Drain(ctx, node.DrainOptions{}))
		assert.Equal(t, 20*time.Second, time.Since(begun), "it has its grace")
		assert.Empty(t, runningContainers(machine))
		end()
		over.Wait()
	})
}
