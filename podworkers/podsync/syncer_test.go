package podsync_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

func TestNew_NamesEveryFault(t *testing.T) {
	_, err := podsync.New(podsync.Config{HostIPs: []string{"nowhere"}, DNS: podsync.Resolver{ClusterDNS: []string{"dns.example"}}, CallTimeout: -1, PullTimeout: -1, HookTimeout: -1})
	for _, word := range []string{"Config.Runtime is missing", "Config.Status is missing", "nowhere", "DNS.ClusterDNS", "CallTimeout", "PullTimeout", "HookTimeout"} {
		require.ErrorContains(t, err, word)
	}
}

// newQuietSyncer returns a syncer on a memory runtime. Its store writes nothing.
func newQuietSyncer(t *testing.T, mem runtime.Runtime, change ...func(*podsync.Config)) (*podsync.Syncer, *store) {
	t.Helper()
	st := &store{write: func(string) {}, statuses: map[types.UID]v1.PodStatus{}}
	cfg := podsync.Config{Runtime: mem, Status: st}
	for _, f := range change {
		f(&cfg)
	}
	syncer, err := podsync.New(cfg)
	require.NoError(t, err)
	return syncer, st
}

func readPodStatus(t *testing.T, rt runtime.Runtime) *runtime.PodStatus {
	t.Helper()
	status, err := rt.PodStatus(context.Background(), "u")
	require.NoError(t, err)
	return status
}

// The same under goroutines as in the simulation: kills are concurrent (TO-1), a
// call returns as soon as its context ends, and the next one has the rest of it.
func TestSyncTerminatingPod_Goroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		syncer, st := newQuietSyncer(t, mem)
		pod := plainPod(func(p *v1.Pod) {
			p.Annotations = map[string]string{}
			p.Spec.Containers = nil
			for i := range 20 {
				name := fmt.Sprintf("c%d", i)
				p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: name, Image: "img:1"})
				p.Annotations[memory.AnnotationPrefix+name] = "run=forever ignore-term"
			}
		})
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, pod, nil, nil)
		require.NoError(t, err)

		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		began := time.Now()
		err = syncer.SyncTerminatingPod(ctx, pod, readPodStatus(t, mem), new(int64(60)), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 7*time.Second, time.Since(began))

		began = time.Now()
		require.NoError(t, syncer.SyncTerminatingPod(t.Context(), pod, readPodStatus(t, mem), new(int64(5)), nil))
		assert.Equal(t, 5*time.Second, time.Since(began))
		assert.Equal(t, v1.PodFailed, st.statuses["u"].Phase)
	})
}

// TestGrace_KC10_KC11_KC13: the grace period of a kill. F11: no number is too large or too small.
func TestGrace_KC10_KC11_KC13(t *testing.T) {
	longest := (1<<63 - 1) / 4 / int64(time.Second)
	for name, tc := range map[string]struct {
		spec, deletion, override *int64
		want                     time.Duration
	}{
		"nothing said":        {nil, nil, nil, 2 * time.Second},
		"spec":                {new(int64(30)), nil, nil, 30 * time.Second},
		"deletion over spec":  {new(int64(30)), new(int64(9)), nil, 9 * time.Second},
		"override over both":  {new(int64(30)), new(int64(9)), new(int64(50)), 50 * time.Second},
		"zero is the minimum": {new(int64(0)), nil, nil, 2 * time.Second},
		"negative":            {new(int64(-1)), nil, nil, 2 * time.Second},
		"its product wraps":   {new(int64(-9223372037)), nil, nil, 2 * time.Second},
		"smallest":            {new(int64(-1 << 63)), nil, nil, 2 * time.Second},
		"huge":                {new(int64(1<<63 - 1)), nil, nil, time.Duration(longest) * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memory.New(memory.Config{})
				var stops []time.Duration
				seen := &stopTap{Runtime: mem, stops: &stops}
				syncer, _ := newQuietSyncer(t, seen)
				pod := plainPod(func(p *v1.Pod) {
					p.Spec.TerminationGracePeriodSeconds, p.DeletionGracePeriodSeconds = tc.spec, tc.deletion
				})
				_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, pod, nil, nil)
				require.NoError(t, err)
				require.NoError(t, syncer.SyncTerminatingPod(t.Context(), pod, readPodStatus(t, mem), tc.override, nil))
				assert.Equal(t, []time.Duration{tc.want}, stops)
			})
		})
	}
}

// stopTap notes the grace of each stop.
type stopTap struct {
	runtime.Runtime
	stops *[]time.Duration
}

func (s *stopTap) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	*s.stops = append(*s.stops, req.Grace)
	return s.Runtime.StopContainer(ctx, req)
}

// Timeouts that mean "for ever" are no deadlines in the past.
func TestConfig_LongestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		syncer, _ := newQuietSyncer(t, mem, func(c *podsync.Config) { c.CallTimeout, c.PullTimeout = 1<<63-1, 1<<63-1 })
		pod := plainPod(func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(1<<63 - 1)) })
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, pod, nil, nil)
		require.NoError(t, err)
		require.NoError(t, syncer.SyncTerminatingPod(t.Context(), pod, readPodStatus(t, mem), nil, nil))
	})
}

// SP-4: the status of the runtime is read once before something is started.
func TestSyncPod_SP4_AsksOnce(t *testing.T) {
	asked := 0
	mem := memory.New(memory.Config{})
	syncer, _ := newQuietSyncer(t, &readyTap{Runtime: mem, asked: &asked})
	sync := func(pod *v1.Pod) int {
		asked = 0
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, mem))
		require.NoError(t, err)
		return asked
	}
	assert.Equal(t, 1, sync(plainPod()), "a new pod")
	assert.Equal(t, 0, sync(plainPod()), "nothing to start")
	changed := plainPod(func(p *v1.Pod) { p.Spec.Containers[0].Image = "img:2" })
	assert.Equal(t, 1, sync(changed), "a container to replace")
	require.NoError(t, mem.KillSandbox(readPodStatus(t, mem).Sandboxes[0].ID))
	assert.Equal(t, 1, sync(changed), "a sandbox to replace")
}

// readyTap counts the reads of the runtime's status.
type readyTap struct {
	*memory.Runtime
	asked *int
}

func (r *readyTap) Features() runtime.Features {
	f := r.Runtime.Features()
	f.StatusReporter = r
	return f
}

func (r *readyTap) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	*r.asked++
	return r.Runtime.RuntimeStatus(ctx)
}

// I35: the first status after a restart of the agent may be empty. Records that appear later are
// adopted all the same, and their exits are published.
func TestLife_I35_SeenLate(t *testing.T) {
	mem := memory.New(memory.Config{})
	pod := plainPod()
	before, _ := newQuietSyncer(t, mem)
	for incarnation := range uint64(2) {
		ctx := podworkers.WithIncarnation(t.Context(), incarnation+1)
		if incarnation > 0 {
			require.NoError(t, before.SyncTerminatedPod(ctx, pod, readPodStatus(t, mem)))
		}
		for range 2 { // The second time it drops the records of the previous incarnation.
			_, err := before.SyncPod(ctx, podworkers.SyncPodCreate, pod, nil, readPodStatus(t, mem))
			require.NoError(t, err)
		}
	}
	running := readPodStatus(t, mem)
	require.Equal(t, uint64(3), running.Sandboxes[0].Incarnation)

	syncer, st := newQuietSyncer(t, mem)
	ctx := podworkers.WithIncarnation(t.Context(), 1)
	require.ErrorIs(t, syncer.SyncTerminatingPod(ctx, pod, nil, nil, nil), podstatus.ReasonKillContainerError)
	_, err := syncer.SyncPod(ctx, podworkers.SyncPodSync, pod, nil, running)
	require.NoError(t, err)
	assert.Equal(t, running, readPodStatus(t, mem), "nothing was touched")
	require.NoError(t, syncer.SyncTerminatingPod(ctx, pod, running, nil, nil))
	require.NotNil(t, st.statuses["u"].ContainerStatuses[0].State.Terminated)
	assert.EqualValues(t, 143, st.statuses["u"].ContainerStatuses[0].State.Terminated.ExitCode)
}

// A number is never used twice for two lives, whatever housekeeping forgets in
// between, as long as it keeps what the runtime has records of.
func TestForget_KeepsWhatIsInUse(t *testing.T) {
	mem := memory.New(memory.Config{})
	syncer, st := newQuietSyncer(t, mem)
	pod := plainPod()
	incarnation := func(n uint64) uint64 {
		ctx := podworkers.WithIncarnation(t.Context(), n)
		_, err := syncer.SyncPod(ctx, podworkers.SyncPodCreate, pod, nil, readPodStatus(t, mem))
		require.NoError(t, err)
		newest := readPodStatus(t, mem).Sandboxes[0].Incarnation
		require.NoError(t, syncer.SyncTerminatingPod(ctx, pod, readPodStatus(t, mem), nil, nil))
		require.NoError(t, syncer.SyncTerminatedPod(ctx, pod, readPodStatus(t, mem)))
		return newest
	}
	assert.Equal(t, uint64(1), incarnation(1))
	syncer.Forget(func(uid types.UID) bool { return uid == "u" })
	assert.Equal(t, uint64(2), incarnation(2))
	assert.Equal(t, uint64(3), incarnation(2), "the same number after its end is another life")
	mem.LoseAll()
	assert.Equal(t, uint64(4), incarnation(7), "nothing left of it, but we remember")
	mem.LoseAll()
	syncer.Forget(func(types.UID) bool { return false })
	clear(st.statuses)
	assert.Equal(t, uint64(1), incarnation(8))
}

// Forget calls keep with no lock held, and keeps a pod that is synced meanwhile. This pod has no
// records yet. If it were forgotten, it would adopt the records of the earlier pod.
func TestForget_SyncPassMeanwhile(t *testing.T) {
	mem := memory.New(memory.Config{})
	syncer, _ := newQuietSyncer(t, mem)
	sync := func(n uint64) error {
		ctx := podworkers.WithIncarnation(t.Context(), n)
		_, err := syncer.SyncPod(ctx, podworkers.SyncPodSync, plainPod(), nil, readPodStatus(t, mem))
		return err
	}
	require.NoError(t, sync(1))
	mem.SetStatus(runtime.RuntimeStatus{RuntimeReady: true})
	syncer.Forget(func(types.UID) bool {
		require.ErrorIs(t, sync(2), runtime.ErrNetworkNotReady)
		return false
	})
	mem.SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true})
	require.NoError(t, sync(2))
	assert.Equal(t, uint64(2), readPodStatus(t, mem).Sandboxes[0].Incarnation)
}

// SP-13: Config.Changed is called for a pod that a call has changed, and for no other pod.
func TestChanged_SP13(t *testing.T) {
	mem := memory.New(memory.Config{})
	var changed []types.UID
	var did []string
	syncer, _ := newQuietSyncer(t, mem, func(c *podsync.Config) {
		c.Changed = func(uid types.UID) { changed = append(changed, uid) }
		c.Hooks.ActionDone = func(r podsync.Result) { did = append(did, string(r.Action)+" "+r.Why) }
	})
	pod := plainPod()
	for range 3 {
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, mem))
		require.NoError(t, err)
	}
	assert.Equal(t, []types.UID{"u"}, changed, "by the first sync, and not by those that found nothing to do")
	assert.Equal(t, []string{"CreatePodSandbox no sandbox", "StartContainer sandbox is new"}, did)
	require.NoError(t, syncer.SyncTerminatingPod(t.Context(), pod, readPodStatus(t, mem), nil, nil))
	assert.Len(t, changed, 2, "by a kill")
	require.NoError(t, mem.LoseContainer(readPodStatus(t, mem).Containers[0].ID))
	require.NoError(t, syncer.SyncTerminatingPod(t.Context(), pod, readPodStatus(t, mem), nil, nil))
	assert.Len(t, changed, 3, "by the end of a sandbox")
}

// KC-14, TO-1: a container that the runtime does not have counts as stopped. A failed inspection proves
// nothing (SP-18).
func TestSyncTerminatingPod_KC14_NotFound(t *testing.T) {
	mem := memory.New(memory.Config{})
	blind := &blindTap{Runtime: mem}
	syncer, st := newQuietSyncer(t, blind)
	pod := plainPod()
	_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, pod, nil, nil)
	require.NoError(t, err)
	seen := readPodStatus(t, mem)
	_, err = syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, seen)
	require.NoError(t, err)
	assert.Equal(t, "podkeel://"+seen.Containers[0].ID, st.statuses["u"].ContainerStatuses[0].ContainerID)
	mem.LoseAll()
	blind.err = errors.New("cannot see")
	require.ErrorIs(t, syncer.SyncTerminatingPod(t.Context(), pod, seen, nil, nil), blind.err)
	blind.err = nil
	require.NoError(t, syncer.SyncTerminatingPod(t.Context(), pod, seen, nil, nil))
}

// blindTap is a runtime whose inspections fail when the test sets that.
type blindTap struct {
	runtime.Runtime
	err error
}

func (b *blindTap) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	if b.err != nil {
		return nil, b.err
	}
	return b.Runtime.PodStatus(ctx, uid)
}

// F75, I30, I35, I37: the agent dies at every single step of a pod's start, and the next agent
// continues. No container runs twice or is restarted needlessly.
func TestSyncPod_F75_CrashAtEveryStep(t *testing.T) {
	pod := plainPod(func(p *v1.Pod) {
		p.Spec.RestartPolicy = v1.RestartPolicyNever
		p.Spec.InitContainers = []v1.Container{{Name: "i", Image: "img:1"}}
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "b", Image: "img:1"})
		p.Annotations = map[string]string{memory.AnnotationPrefix + "i": "run=2s exit=0"}
	})
	steps := 0
	for k := 0; k <= steps; k++ {
		s := executor.NewScheduler(uint64(k), start)
		mem := memory.New(memory.Config{Clock: s.NewProcess().Clock()})
		agent := runAgent(t, s, mem, pod)
		if k == 0 { // No crash: how many steps are there?
			s.RunUntil(start.Add(10 * time.Second))
			steps = s.Steps()
		} else {
			stepTo(s, k)
			agent.Crash()
			agent = runAgent(t, s, mem, pod)
			s.RunUntil(s.Now().Add(30 * time.Second))
		}
		agent.Crash()
		assertOneOfEach(t, mem, k)
	}
	assert.Greater(t, steps, 20)
}

// runAgent syncs a pod once a second for ever.
func runAgent(t *testing.T, s *executor.Scheduler, mem *memory.Runtime, pod *v1.Pod) *executor.Process {
	p := s.NewProcess()
	rt := mem.WithClock(p.Clock())
	syncer, _ := newQuietSyncer(t, rt, func(c *podsync.Config) { c.Clock = p.Clock() })
	p.Go(func() {
		for {
			status, err := rt.PodStatus(context.Background(), pod.UID)
			if err == nil {
				_, _ = syncer.SyncPod(context.Background(), podworkers.SyncPodSync, pod, nil, status)
			}
			if p.Sleep(context.Background(), time.Second) != nil {
				return
			}
		}
	})
	return p
}

// stepTo runs a scheduler up to a step.
func stepTo(s *executor.Scheduler, k int) {
	for s.Steps() < k {
		if s.Step() {
			continue
		}
		next, ok := s.NextTimer()
		if !ok {
			return
		}
		s.AdvanceTo(next)
	}
}

func assertOneOfEach(t *testing.T, mem *memory.Runtime, k int) {
	t.Helper()
	status := readPodStatus(t, mem)
	require.Len(t, status.Sandboxes, 1, "crash at step %d", k)
	var have []string
	for _, c := range status.Containers {
		have = append(have, fmt.Sprintf("%s %s", c.Name, c.State))
	}
	assert.ElementsMatch(t, []string{"i exited", "a running", "b running"}, have, "crash at step %d:\n%s", k, strings.Join(have, "\n"))
}

// F79, F61, I31: an end that is dated in the future, or a clock that is set back
// after it was seen, makes no delay longer.
func TestSyncPod_F79_ExitInTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		ahead := &skewed{Runtime: mem, by: time.Hour}
		syncer, st := newQuietSyncer(t, ahead)
		pod := plainPod(func(p *v1.Pod) {
			p.Annotations = map[string]string{memory.AnnotationPrefix + "a": "run=1s exit=1"}
		})
		attempts := func(at time.Duration) int32 {
			time.Sleep(at)
			_, _ = syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, ahead))
			return st.statuses["u"].ContainerStatuses[0].RestartCount
		}
		attempts(0)
		attempts(2 * time.Second)
		assert.Equal(t, int32(1), attempts(2*time.Second), "its end is seen, and it is held for 10 s")
		ahead.by = 2 * time.Hour
		assert.Equal(t, int32(1), attempts(9*time.Second))
		attempts(time.Second)
		assert.Equal(t, int32(2), attempts(0), "it has been started")
	})
}

// F61: an end without a time counts from when it was seen.
func TestSyncPod_F61_ExitWithoutTime(t *testing.T) {
	mem := memory.New(memory.Config{})
	syncer, st := newQuietSyncer(t, mem)
	sync := func() error {
		status := *readPodStatus(t, mem)
		status.Containers = slices.Clone(status.Containers)
		for i := range status.Containers {
			status.Containers[i].FinishedAt = time.Time{}
		}
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, plainPod(), nil, &status)
		return err
	}
	require.NoError(t, sync())
	for range 2 {
		require.NoError(t, mem.ExitContainer(readPodStatus(t, mem).Containers[0].ID, 1))
		if err := sync(); err != nil {
			require.ErrorIs(t, err, podstatus.ReasonCrashLoopBackOff)
		}
	}
	assert.NotNil(t, st.statuses["u"].ContainerStatuses[0].State.Waiting, "its second restart is held")
}

// skewed dates ends ahead.
type skewed struct {
	*memory.Runtime
	by time.Duration
}

func (s *skewed) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	status, err := s.Runtime.PodStatus(ctx, uid)
	if err != nil {
		return nil, err
	}
	out := *status
	out.Containers = slices.Clone(status.Containers)
	for i := range out.Containers {
		if c := &out.Containers[i]; !c.FinishedAt.IsZero() {
			c.FinishedAt = c.FinishedAt.Add(s.by)
		}
	}
	return &out, nil
}
