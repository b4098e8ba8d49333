package gc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/syncloop/gc"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// snapshot is the state that a PLEG shows: the current one, or an older one.
type snapshot struct {
	pleg.Generator
	*bench
	frozen map[types.UID]*runtime.PodStatus
}

func (p snapshot) Pods() []runtime.Pod { return p.machine.Snapshot() }

func (p snapshot) Get(uid types.UID) (*runtime.PodStatus, error) {
	if old, ok := p.frozen[uid]; ok {
		return old, nil
	}
	return p.machine.PodStatus(context.Background(), uid)
}

// collector is a simulation with Containers.
type collector struct {
	*simulation
	containers *gc.Containers
	snapshot   snapshot
}

func newCollector(t *testing.T, limits policy.Containers, change ...func(*gc.ContainersConfig)) *collector {
	b := &simulation{Scheduler: executor.NewScheduler(1, start)}
	b.process = b.NewProcess()
	own := b.process.Clock()
	b.bench = newBench(b.NewProcess().Clock(), own)
	c := &collector{simulation: b, snapshot: snapshot{bench: b.bench, frozen: map[types.UID]*runtime.PodStatus{}}}
	config := gc.ContainersConfig{
		Runtime: spy{b.faults.Wrap(b.machine.WithClock(own), own), b.bench}, Seen: c.snapshot, Policy: limits, Clock: own,
		Living: b.isRemovable, Delay: 1, Removed: func(uid types.UID) { b.addLine("removed of %s", uid) },
		Log: slog.New(slog.NewTextHandler(discardTimes{b.bench}, nil)),
	}
	for _, f := range change {
		f(&config)
	}
	var err error
	c.containers, err = gc.NewContainers(config)
	require.NoError(t, err)
	var ctx context.Context
	ctx, b.end = executor.WithCancel(t.Context())
	b.process.Go(func() {
		assert.NoError(t, c.containers.Run(ctx))
		b.ran = true
	})
	b.RunUntilIdle()
	t.Cleanup(func() {
		b.end()
		b.RunUntil(b.Now().Add(time.Hour))
		assert.Zero(t, b.process.Running())
	})
	return c
}

// discardTimes counts warnings only.
type discardTimes struct{ b *bench }

func (d discardTimes) Write(line []byte) (int, error) {
	d.b.addLine("warned")
	return len(line), nil
}

// createAttempts creates attempts of a container. All but the last have exited.
func (c *collector) createAttempts(t *testing.T, uid types.UID, attempts int) {
	t.Helper()
	ctx := context.Background()
	pod := runtime.PodRef{UID: uid, Name: string(uid), Namespace: "ns"}
	var sandbox string
	for _, p := range c.machine.Snapshot() {
		if p.UID == uid {
			sandbox = p.Sandboxes[0].ID
		}
	}
	if sandbox == "" {
		var err error
		sandbox, err = c.machine.RunSandbox(ctx, runtime.RunSandboxRequest{Pod: pod})
		require.NoError(t, err)
	}
	image, err := c.machine.PullImage(ctx, runtime.PullImageRequest{Image: "i"})
	require.NoError(t, err)
	from := c.listAttempts(uid)
	for n := range attempts {
		id, err := c.machine.CreateContainer(ctx, runtime.CreateContainerRequest{Pod: pod, SandboxID: sandbox, Name: "c", Attempt: uint32(len(from) + n), Image: "i", ImageRef: image})
		require.NoError(t, err)
		require.NoError(t, c.machine.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id}))
		if n < attempts-1 {
			require.NoError(t, c.machine.ExitContainer(id, 1))
		}
	}
}

// listAttempts returns the attempts that have records.
func (c *collector) listAttempts(uid types.UID) []uint32 {
	status, _ := c.machine.PodStatus(context.Background(), uid)
	var attempts []uint32
	for _, r := range status.Containers {
		attempts = append(attempts, r.Attempt)
	}
	slices.Sort(attempts)
	return attempts
}

// GC-10: the running and the last exited container are kept. No call reaches the runtime
// about a pod that has nothing to remove.
func TestContainers_GC3_GC10_KeepsOne(t *testing.T) {
	c := newCollector(t, policy.Containers{})
	c.createAttempts(t, "a", 4)
	c.createAttempts(t, "b", 2)
	_, err := c.faults.Add(faulty.Rule{Verb: faulty.PodStatus, UID: "b", Do: faulty.Fail})
	require.NoError(t, err)
	c.containers.Changed("a")
	c.containers.Changed("a")
	c.containers.Changed("b")
	c.containers.Changed("unknown")
	c.runUntilSecond(100)
	assert.Equal(t, []uint32{2, 3}, c.listAttempts("a"))
	assert.Equal(t, []string{"1e-09 removed of a"}, c.takeLines())
	_, armed := c.NextTimer()
	assert.False(t, armed, "and then nothing")
}

// GC-1: a container is removed when it reaches MinAge, without another Changed. A Changed before
// that has no effect.
func TestContainers_GC1_MinAge(t *testing.T) {
	c := newCollector(t, policy.Containers{MinAge: time.Minute})
	c.createAttempts(t, "a", 4)
	c.containers.Changed("a")
	c.runUntilSecond(59)
	assert.Equal(t, []uint32{0, 1, 2, 3}, c.listAttempts("a"))
	c.runUntilSecond(61)
	assert.Equal(t, []uint32{2, 3}, c.listAttempts("a"))
	assert.Equal(t, []string{"60 removed of a"}, c.takeLines())
}

// GC-4: all pods are counted together.
func TestContainers_GC4_AllPods(t *testing.T) {
	c := newCollector(t, policy.Containers{MaxPerPodContainer: -1, MaxContainers: 4})
	c.createAttempts(t, "a", 4)
	c.createAttempts(t, "b", 4)
	c.containers.Changed("b")
	c.runUntilSecond(10)
	assert.Equal(t, []uint32{1, 2, 3}, c.listAttempts("a"))
	assert.Equal(t, []uint32{1, 2, 3}, c.listAttempts("b"))
}

// The snapshot is old: the removals follow the state of the runtime.
func TestContainers_OldSnapshot(t *testing.T) {
	c := newCollector(t, policy.Containers{})
	c.createAttempts(t, "a", 3)
	c.snapshot.frozen["a"], _ = c.snapshot.Get("a")
	c.containers.Changed("a")
	c.runUntilSecond(1)
	assert.Equal(t, []uint32{1, 2}, c.listAttempts("a"))
	c.takeLines()
	c.containers.Changed("a")
	c.runUntilSecond(2)
	assert.Empty(t, c.takeLines())
}

// A pod that belongs to another owner, or that Pods removes, is not changed.
func TestContainers_NotLiving(t *testing.T) {
	c := newCollector(t, policy.Containers{})
	c.createAttempts(t, "a", 3)
	c.keepPod("a", true) // here a pod that is not removable stands for both
	c.containers.Changed("a")
	c.runUntilSecond(1)
	assert.Equal(t, []uint32{0, 1, 2}, c.listAttempts("a"))
}

// Failed removals, false successes and failed status calls are retried with a backoff and logged
// once. Nothing is concluded from them.
func TestContainers_F58_Trouble(t *testing.T) {
	for name, rule := range map[string]faulty.Rule{
		"fails":      {Verb: faulty.RemoveContainer, Do: faulty.Fail, Times: 2},
		"lies":       {Verb: faulty.RemoveContainer, Do: faulty.Lie, Times: 2},
		"lost reply": {Verb: faulty.RemoveContainer, Do: faulty.FailDone, Times: 1},
		"no look":    {Verb: faulty.PodStatus, Do: faulty.Fail, Times: 2},
		"hangs":      {Verb: faulty.RemoveContainer, Do: faulty.Hang, Times: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t, policy.Containers{})
			c.createAttempts(t, "a", 3)
			_, err := c.faults.Add(rule)
			require.NoError(t, err)
			c.containers.Changed("a")
			c.runUntilSecond(1000)
			assert.Equal(t, []uint32{1, 2}, c.listAttempts("a"))
			assert.Contains(t, fmt.Sprint(c.takeLines()), "warned")
			_, armed := c.NextTimer()
			assert.False(t, armed)
		})
	}
}

// attemptLogs are logs that cannot be removed the first time.
type attemptLogs struct {
	b     *bench
	calls int
}

func (l *attemptLogs) RemoveAttempts(pod runtime.PodRef, container string, keep []uint32) error {
	l.b.addLine("logs of %s/%s %s %s but %d", pod.Namespace, pod.Name, pod.UID, container, keep)
	if l.calls++; l.calls == 1 {
		return errors.New("read-only file system")
	}
	return nil
}

// KC-17: the logs of an attempt are removed before its record. The record stays while the logs
// cannot be removed.
func TestContainers_KC17_Logs(t *testing.T) {
	logs := &attemptLogs{}
	c := newCollector(t, policy.Containers{}, func(config *gc.ContainersConfig) { config.Logs = logs })
	logs.b = c.bench
	c.createAttempts(t, "a", 3)
	c.containers.Changed("a")
	c.runUntilSecond(1)
	assert.Equal(t, []uint32{0, 1, 2}, c.listAttempts("a"))
	c.runUntilSecond(1000)
	assert.Equal(t, []uint32{1, 2}, c.listAttempts("a"))
	var about []string
	for _, line := range c.takeLines() {
		if strings.Contains(line, "logs") || strings.Contains(line, "warned") || strings.Contains(line, "removed") {
			about = append(about, line)
		}
	}
	assert.Equal(t, []string{"1e-09 logs of ns/a a c but [2 1]", "1e-09 warned", "10.000000001 logs of ns/a a c but [2 1]", "10.000000001 removed of a"}, about)
}

// The same with goroutines and concurrent calls of Changed.
func TestContainers_Goroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(clock.RealClock{}, clock.RealClock{})
		c := &collector{simulation: &simulation{bench: b}, snapshot: snapshot{bench: b}}
		var err error
		c.containers, err = gc.NewContainers(gc.ContainersConfig{
			Runtime: b.machine, Seen: c.snapshot, Living: func(types.UID) bool { return true }, Policy: policy.Containers{MinAge: time.Second},
		})
		require.NoError(t, err)
		for i := range 20 {
			c.createAttempts(t, types.UID(fmt.Sprint(i)), 4)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.containers.Run(ctx) }()
		for i := range 100 {
			go c.containers.Changed(types.UID(fmt.Sprint(i % 20)))
		}
		time.Sleep(time.Minute)
		for i := range 20 {
			assert.Equal(t, []uint32{2, 3}, c.listAttempts(types.UID(fmt.Sprint(i))))
		}
		cancel()
		assert.NoError(t, <-ended)
	})
}

func TestNewContainers_NamesEveryFault(t *testing.T) {
	_, err := gc.NewContainers(gc.ContainersConfig{Policy: policy.Containers{MinAge: -1, MaxAge: -1}, Delay: -1, Retry: -1, MaxRetry: -1, CallTimeout: -1, MaxRemovals: -1})
	require.EqualError(t, err, "gc: ContainersConfig.Runtime is missing\ngc: ContainersConfig.Seen is missing\n"+
		"gc: ContainersConfig.Living is missing\ngc: ContainersConfig.Policy.MinAge is negative\ngc: ContainersConfig.Policy.MaxAge is negative\n"+
		"gc: ContainersConfig.Delay is negative\ngc: ContainersConfig.Retry is negative\ngc: ContainersConfig.MaxRetry is negative\n"+
		"gc: ContainersConfig.CallTimeout is negative\ngc: ContainersConfig.MaxRemovals is negative")
}

// endless is a runtime that shows another dead container after each removal.
type endless struct {
	runtime.Runtime
	removed *int
}

func (e endless) RemoveContainer(context.Context, runtime.RemoveContainerRequest) error {
	*e.removed++
	return nil
}

func (e endless) PodStatus(_ context.Context, uid types.UID) (*runtime.PodStatus, error) {
	status := &runtime.PodStatus{UID: uid}
	for n := range 3 {
		c := runtime.ContainerStatus{Container: runtime.Container{ID: fmt.Sprint("c", *e.removed+n), Name: "c", Attempt: uint32(*e.removed + n), State: runtime.StateExited}}
		status.Containers = append(status.Containers, c)
	}
	return status, nil
}

// An attempt ends after a limited number of rounds, and the next one follows with a backoff: a
// runtime that always shows more does not keep the collector busy.
func TestContainers_F58_EndlessRecords(t *testing.T) {
	removed := 0
	c := newCollector(t, policy.Containers{}, func(config *gc.ContainersConfig) {
		config.Runtime = endless{config.Runtime.(runtime.Runtime), &removed}
	})
	c.createAttempts(t, "a", 3)
	c.containers.Changed("a")
	c.runUntilSecond(1)
	first := removed
	assert.Positive(t, first)
	assert.LessOrEqual(t, first, 20)
	c.runUntilSecond(3600)
	assert.Less(t, removed, 100*first, "there is a backoff")
}
