package podworkerstest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	. "github.com/podkeel/podkeel/podworkers/podworkerstest"
	rt "github.com/podkeel/podkeel/runtime"
)

// starts is a PodSyncer in which only SyncPod does something.
type starts struct {
	*Syncer
	do func(ctx context.Context, pod *v1.Pod) error
}

func (s starts) SyncPod(ctx context.Context, _ podworkers.SyncPodType, pod, _ *v1.Pod, _ *rt.PodStatus) (bool, error) {
	return false, s.do(ctx, pod)
}

// starting returns a Config with such a syncer.
func starting(do func(clk clock.Clock, ctx context.Context, pod *v1.Pod) error) Config {
	return Config{Syncer: func(clk clock.Clock) podworkers.PodSyncer {
		return starts{NewSyncer(clk), func(ctx context.Context, pod *v1.Pod) error { return do(clk, ctx, pod) }}
	}}
}

// count returns how many lines of a transcript have a text.
func count(node *Stepper, what string) int { return strings.Count(node.Transcript(), what) }

// waits is a syncer that needs time to start a pod.
func waits(d time.Duration) Config {
	return starting(func(_ clock.Clock, ctx context.Context, _ *v1.Pod) error { return podworkers.Wait(ctx, d) })
}

func TestWait_InTheStepperTakesVirtualTimeAndNoSlot(t *testing.T) {
	config := waits(5 * time.Second)
	config.T, config.MaxSyncs = t, 1
	node := NewStepper(config)
	node.Create(Pod("a"))
	node.RunUntilIdle()
	node.Create(Pod("b"))
	node.Advance(time.Minute)
	assert.Equal(t, `0s       a  create
0s       a  SyncPod create ...
0s       b  create
0s       b  SyncPod create ...
5s       b  ... SyncPod create: ok, after 5s
5s       a  ... SyncPod create: ok, after 5s
`, node.Transcript())
}

func TestWait_EndsWithItsSync(t *testing.T) {
	config := waits(time.Hour)
	config.T = t
	node := NewStepper(config)
	node.Create(Pod("a"))
	node.Advance(time.Second)
	require.NoError(t, node.Kill(Pod("a")).Wait(t.Context()), "a wait of the test runs the simulation")
	assert.Equal(t, time.Second, node.Now().Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)))
	assert.Equal(t, 1, count(node, "... SyncPod create: context canceled, after 1s"), node.Transcript())
}

func TestWait_EndsWithACrash(t *testing.T) {
	config := waits(time.Hour)
	config.T = t
	node := NewStepper(config)
	node.Create(Pod("a"))
	node.Advance(time.Second)
	node.Crash()
	assert.Equal(t, 1, count(node, "... SyncPod create: executor: the process has crashed, after 1s"), node.Transcript())
}

func TestWait_OutsideTheWorkers(t *testing.T) {
	node := NewStepper(Config{T: t})
	ended := false
	node.Go(func(ctx context.Context) { ended = podworkers.Wait(ctx, time.Minute) == nil })
	node.Advance(59 * time.Second)
	assert.False(t, ended)
	node.Advance(time.Second)
	assert.True(t, ended)
}

// With goroutines the wait uses the clock of the workers. With another context it uses the real
// clock.
func TestWait_RealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.NoError(t, podworkers.Wait(t.Context(), time.Hour))
		assert.Equal(t, time.Hour, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, podworkers.Wait(ctx, time.Hour), context.DeadlineExceeded)
		assert.Equal(t, time.Hour+time.Second, time.Since(began))
		require.ErrorIs(t, podworkers.Wait(ctx, 0), context.DeadlineExceeded)

		syncer := starts{NewSyncer(nil), func(ctx context.Context, _ *v1.Pod) error { return podworkers.Wait(ctx, 3*time.Second) }}
		trace := NewTrace(nil)
		w, err := podworkers.New(podworkers.Config{Syncer: trace.WrapSyncer(syncer), Cache: NewCache(nil)})
		require.NoError(t, err)
		run, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(run) }()
		require.NoError(t, w.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: Pod("a")}))
		time.Sleep(10 * time.Second)
		stop()
		require.NoError(t, <-ended)
		assert.Contains(t, trace.String(), "3s       a  ... SyncPod create: ok, after 3s")
	})
}

// tb is a testing.TB that records its calls.
type tb struct {
	testing.TB
	said     string // message of Fatal
	failed   bool
	logged   string
	cleanups []func()
}

func (*tb) Helper()                          {}
func (f *tb) Cleanup(g func())               { f.cleanups = append(f.cleanups, g) }
func (*tb) Name() string                     { return "fake" }
func (f *tb) Failed() bool                   { return f.failed }
func (f *tb) FailNow()                       { f.failed = true; runtime.Goexit() }
func (f *tb) Fatal(args ...any)              { f.said = fmt.Sprint(args...); f.FailNow() }
func (f *tb) Logf(format string, a ...any)   { f.logged += fmt.Sprintf(format, a...) }
func (f *tb) Errorf(format string, a ...any) { f.failed, f.said = true, fmt.Sprintf(format, a...) }

// fails runs a story with a test of its own, and returns that test when it has ended.
func fails(config Config, story func(node *Stepper)) *tb {
	f := &tb{}
	done := make(chan struct{})
	go func() { // FailNow ends the goroutine.
		defer close(done)
		config.T = f
		node := NewStepper(config)
		story(node)
	}()
	<-done
	for _, c := range f.cleanups {
		c()
	}
	return f
}

// create is the story of a pod that is started.
func create(node *Stepper) {
	node.Create(Pod("a"))
	node.Advance(time.Minute)
}

// Each kind of wait or failure that would block the simulation, or be lost in it, fails the test
// with a sentence that says what to do, and with the transcript.
func TestStepper_AWrongSyncerFailsTheTest(t *testing.T) {
	for name, row := range map[string]struct {
		do   func(clk clock.Clock, ctx context.Context, pod *v1.Pod) error
		said []string
	}{
		"a timer's channel": {func(clk clock.Clock, _ context.Context, _ *v1.Pod) error { <-clk.After(time.Second); return nil },
			[]string{"SyncPod of pod default/a panicked", "podworkers.Wait(ctx, d)", "wait_test.go"}},
		"a timer": {func(clk clock.Clock, _ context.Context, _ *v1.Pod) error {
			<-clk.NewTimer(time.Second).C()
			return nil
		}, []string{"SyncPod of pod default/a panicked", "podworkers.Wait(ctx, d)"}},
		"the clock's sleep": {func(clk clock.Clock, _ context.Context, _ *v1.Pod) error { clk.Sleep(time.Second); return nil },
			[]string{"SyncPod of pod default/a panicked", "podworkers.Wait(ctx, d)"}},
		"a panic": {func(clock.Clock, context.Context, *v1.Pod) error { panic("boom") },
			[]string{"SyncPod of pod default/a panicked: boom", "wait_test.go"}},
	} {
		f := fails(starting(row.do), create)
		assert.True(t, f.failed, name)
		for _, said := range row.said {
			assert.Contains(t, f.said, said, name)
		}
		assert.Contains(t, f.logged, "The transcript:\n0s       a  create\n", name)
	}
}

// A syncer that waits for something outside the simulation blocks the only thread.
func TestStepper_WaitOutsideTheSimulationFailsTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		config := starting(func(clock.Clock, context.Context, *v1.Pod) error { <-never; return nil })
		var node *Stepper
		f := fails(config, func(s *Stepper) {
			node = s
			node.StallAfter(time.Second)
			create(node)
		})
		close(never)
		node.Resume()
		node.Close()
		assert.True(t, f.failed)
		assert.Contains(t, f.said, "waits for something outside it and blocks the simulation")
		assert.Contains(t, f.said, "A PodSyncer waits by podworkers.Wait(ctx, d)")
		assert.Contains(t, f.said, "TestStepper_WaitOutsideTheSimulationFailsTheTest", "where")
	})
}

// A failed assertion in a syncer ends the test as usual.
func TestStepper_AFailedAssertionInASyncerEndsTheTest(t *testing.T) {
	f := &tb{}
	config := starting(func(clock.Clock, context.Context, *v1.Pod) error {
		require.Equal(f, 1, 2)
		return nil
	})
	done := make(chan struct{})
	after := false
	go func() {
		defer close(done)
		node := NewStepper(config)
		defer node.Close()
		create(node)
		after = true
	}()
	<-done
	assert.True(t, f.failed)
	assert.False(t, after)
}

// Without a test, or with a nil T, an invalid syncer causes a panic.
func TestStepper_WithoutATestAWrongSyncerPanics(t *testing.T) {
	node := NewStepper(starting(func(clock.Clock, context.Context, *v1.Pod) error { panic("boom") }))
	defer node.Close()
	node.Create(Pod("a"))
	defer func() { assert.Contains(t, fmt.Sprint(recover()), "SyncPod of pod default/a panicked: boom") }()
	node.RunUntilIdle()
}

// A scripted panic is intended and does not fail the test.
func TestStepper_AScriptedPanicFailsNothing(t *testing.T) {
	node := NewStepper(Config{T: t})
	node.Syncer.Script("a", lifecycle.SyncPod, Reply{Panic: "boom"}, Reply{})
	create(node)
	assert.Equal(t, 1, count(node, "SyncPod create: panicked"), node.Transcript())
}

func TestStepper_AWaitThatCannotEndFailsTheTest(t *testing.T) {
	f := fails(Config{}, func(node *Stepper) {
		node.Syncer.Script("a", lifecycle.SyncTerminatingPod, Reply{Blocks: true, IgnoresContext: true})
		create(node)
		_ = node.Kill(Pod("a")).Wait(context.Background())
	})
	assert.Equal(t, "podworkerstest: the wait of the test cannot end: executor: no coroutine is ready and no timer is set, so nothing can end the wait", f.said)
}
