package podsync_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// agent has workers with a Syncer in the simulation. A changed pod is synced at once. So every later
// sync has its cause in an error.
type agent struct {
	s       *executor.Scheduler
	p       *executor.Process
	mem     *memory.Runtime
	store   *store
	workers *podworkers.Workers
	pod     *v1.Pod
	log     []string
}

func newAgent(t *testing.T, pod *v1.Pod, change ...func(*podworkers.Config)) *agent {
	a := &agent{s: executor.NewScheduler(7, start), pod: pod}
	a.p = a.s.NewProcess()
	a.mem = memory.New(memory.Config{Clock: a.s.NewProcess().Clock(), Hooks: memory.Hooks{Call: a.recordCall}})
	a.store = &store{write: func(string) {}, statuses: map[types.UID]v1.PodStatus{}}
	rt := a.mem.WithClock(a.p.Clock())
	syncer, err := podsync.New(podsync.Config{
		Runtime: rt, Status: a.store, Clock: a.p.Clock(),
		Changed: func(types.UID) { a.sendUpdate(podworkers.SyncPodSync) },
	})
	require.NoError(t, err)
	cfg := podworkers.Config{Syncer: syncer, Cache: direct{rt}, Clock: a.p.Clock(), Jitter: func() float64 { return 0 }}
	for _, f := range change {
		f(&cfg)
	}
	a.workers, err = podworkers.New(cfg)
	require.NoError(t, err)
	a.p.Go(func() { _ = a.workers.Run(context.Background()) })
	return a
}

func (a *agent) sendUpdate(kind podworkers.SyncPodType) {
	_ = a.workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: kind, Pod: a.pod})
}

// recordCall writes down starts, stops and pulls with the time.
func (a *agent) recordCall(c memory.Call) {
	if strings.HasPrefix(c.Verb, "Start") || strings.HasPrefix(c.Verb, "Stop") || c.Verb == "PullImage" {
		a.log = append(a.log, fmt.Sprintf("%s %s", c.Began.Sub(start), c.Verb))
	}
}

// direct is a cache that remembers nothing: every answer is fresh.
type direct struct{ rt runtime.Runtime }

func (d direct) Get(uid types.UID) (*runtime.PodStatus, error) {
	return d.rt.PodStatus(context.Background(), uid)
}
func (direct) Mark() uint64 { return 0 }
func (d direct) NewerThan(ctx context.Context, uid types.UID, _ uint64) (*runtime.PodStatus, error) {
	return d.rt.PodStatus(ctx, uid)
}

// slowRetries: an error that does not say when to come back is forgotten for an hour.
func slowRetries(c *podworkers.Config) { c.Retry.Backoff = time.Hour }

// SL-31, I31, outer 3.6: the next sync comes exactly at the end of the delay.
func TestWorkers_SL31_CrashLoop(t *testing.T) {
	a := newAgent(t, plainPod(func(p *v1.Pod) {
		p.Annotations = map[string]string{memory.AnnotationPrefix + "a": "run=0s exit=1"}
	}), slowRetries)
	a.sendUpdate(podworkers.SyncPodCreate)
	a.s.RunUntil(start.Add(3 * time.Minute))
	assert.Equal(t, []string{
		"0s PullImage", "0s StartContainer", "0s StartContainer", "10s StartContainer", "30s StartContainer",
		"1m10s StartContainer", "2m30s StartContainer",
	}, a.log)
	assert.Equal(t, "CrashLoopBackOff", a.store.statuses["u"].ContainerStatuses[0].State.Waiting.Reason)
	a.p.Crash()
}

// The same for a pull that fails.
func TestWorkers_SL31_Pull(t *testing.T) {
	a := newAgent(t, plainPod(), slowRetries)
	a.mem.FailPulls("img:1", context.DeadlineExceeded)
	a.sendUpdate(podworkers.SyncPodCreate)
	a.s.RunUntil(start.Add(2 * time.Minute))
	assert.Equal(t, []string{"0s PullImage", "10s PullImage", "30s PullImage", "1m10s PullImage"}, a.log)
	a.p.Crash()
}

// I7: a shorter grace takes effect at once, and a container that ends early
// ends its pod.
func TestWorkers_I7_ShorterGrace(t *testing.T) {
	a := newAgent(t, plainPod(func(p *v1.Pod) {
		p.Annotations = map[string]string{memory.AnnotationPrefix + "a": "run=forever ignore-term"}
		p.Spec.TerminationGracePeriodSeconds = new(int64(600))
	}))
	a.sendUpdate(podworkers.SyncPodCreate)
	a.s.RunUntil(start.Add(time.Minute))
	a.sendUpdate(podworkers.SyncPodKill)
	a.s.RunUntil(start.Add(2 * time.Minute))
	done := a.workers.Kill(podworkers.UpdatePodOptions{
		UpdateType: podworkers.SyncPodKill, Pod: a.pod,
		KillPodOptions: &podworkers.KillPodOptions{PodTerminationGracePeriodSecondsOverride: new(int64(5))},
	})
	a.s.RunUntil(start.Add(3 * time.Minute))
	assert.Equal(t, []string{
		"0s PullImage", "0s StartContainer", "1m0s StopContainer", "2m0s StopContainer", "2m5s StopSandbox",
	}, a.log)
	assert.NoError(t, done.Err())
	assert.Equal(t, v1.PodFailed, a.store.statuses["u"].Phase)
	a.p.Crash()
}

// No slot is held while a container has time to end, nor while an image is pulled: with
// a single slot another pod starts meanwhile.
func TestWorkers_GraceHoldsNoSlot(t *testing.T) {
	one := func(c *podworkers.Config) { c.MaxSyncs, c.MaxTerminations = 1, 1 }
	slow := plainPod(func(p *v1.Pod) {
		p.Annotations = map[string]string{memory.AnnotationPrefix + "a": "run=forever ignore-term"}
		p.Spec.TerminationGracePeriodSeconds = new(int64(600))
	})
	a := newAgent(t, slow, one)
	a.sendUpdate(podworkers.SyncPodCreate)
	a.s.RunUntil(start.Add(time.Second))
	changed := slow.DeepCopy()
	changed.Spec.Containers[0].Image = "img:2"
	a.pod = changed
	a.sendUpdate(podworkers.SyncPodUpdate)
	a.s.RunUntil(start.Add(2 * time.Second))
	other := plainPod(func(p *v1.Pod) { p.UID, p.Name = "v", "other" })
	require.NoError(t, a.workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: other}))
	a.s.RunUntil(start.Add(3 * time.Second))
	status, err := a.mem.PodStatus(context.Background(), "v")
	require.NoError(t, err)
	require.Len(t, status.Containers, 1)
	assert.Equal(t, runtime.StateRunning, status.Containers[0].State)
	a.p.Crash()
}
