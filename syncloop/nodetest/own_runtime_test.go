package nodetest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// A foreign runtime that behaves like the one in memory gives the same transcript.
func TestSimulation_AnyRuntime(t *testing.T) {
	story := func(w nodetest.Harness) {
		w.Apply(webPod("web"))
		w.Apply(newPod("job", []string{"sleep", "3"}))
		w.Run(20 * time.Second)
		w.Delete("uid-web")
		w.Run(time.Minute)
	}
	made := func(clk clock.Clock) runtime.Runtime { return memory.New(memory.Config{Clock: clk}) }
	want := nodetest.Play(t, nodetest.Config{Seed: 1}, story)
	assert.Equal(t, want, nodetest.Play(t, nodetest.Config{Seed: 1, Runtime: made}, story))

	faults, err := faulty.New(faulty.Config{Rules: []faulty.Rule{{Verb: faulty.StartContainer, Times: 1, Do: faulty.Fail}}})
	require.NoError(t, err)
	b := nodetest.New(t, nodetest.Config{Runtime: func(clk clock.Clock) runtime.Runtime { return faults.Wrap(made(clk), clk) }})
	assert.Nil(t, b.Machine())
	b.Apply(webPod("web"))
	b.RunUntil(func() bool { return strings.HasPrefix(b.Status("web"), "1/1 Running") })
	b.Crash() // The runtime keeps running.
	b.Start()
	b.Run(time.Minute)
	assert.True(t, strings.HasPrefix(b.Status("web"), "1/1 Running"), b.Transcript())
	b.Stop()
	assert.Contains(t, b.Transcript(), "  StartContainer c0: faulty: injected: StartContainer\n")
}

// A runtime that was written for nothing but its own ends, and waits by
// podworkers.Wait.
func TestSimulation_ARuntimeOfOnesOwn(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Runtime: func(clk clock.Clock) runtime.Runtime { return newTiny(clk) }})
	b.Apply(newPod("web", []string{"serve"}))
	b.Run(10 * time.Second)
	b.AssertStatus("web", "1/1 Running restarts=0")
	b.Delete("uid-web")
	b.Run(10 * time.Second)
	b.AssertStatus("web", "gone")
	b.Stop()
	assert.Equal(t, `pod default/web
        0s  RunSandbox attempt=0
        0s  event Pulled: Container image "web:1" already present on machine
        0s  CreateContainer c0 attempt=0
        0s  event Created: Container c0 created
        0s  | 0/1 ContainerCreating restarts=0
        2s  StartContainer c0
        2s  event Started: Container c0 started
        2s  | 1/1 Running restarts=0
       10s  event Killing: Stopping container c0: the pod ends
       10s  | 1/1 Terminating restarts=0
       11s  StopContainer c0 grace=30s
       11s  StopSandbox
       11s  | 0/1 Error restarts=0
     12.1s  RemoveSandbox
     12.1s  | gone
`, b.Transcript())
}

// TestSimulation_ARuntimeOfOnesOwnCrashedAtEveryStep: a crash can interrupt a call of a test's runtime
// at every step, and the next node continues with the state of the runtime.
func TestSimulation_ARuntimeOfOnesOwnCrashedAtEveryStep(t *testing.T) {
	for step := range 120 {
		b := nodetest.New(t, nodetest.Config{Runtime: func(clk clock.Clock) runtime.Runtime { return newTiny(clk) }})
		b.Apply(newPod("web", []string{"serve"}))
		for range step {
			b.Step()
		}
		b.Crash()
		b.Start()
		b.Run(5 * time.Minute)
		require.True(t, strings.HasPrefix(b.Status("web"), "1/1 Running"), "step %d\n%s", step, b.Transcript())
		b.Stop()
	}
}

// A runtime that waits for something real stops the only thread there is.
func TestSimulation_ARuntimeThatBlocksFailsTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		var b *nodetest.Simulation
		f := runStory(func(t *tb) {
			b = nodetest.New(t, nodetest.Config{Runtime: func(clk clock.Clock) runtime.Runtime { return blocking{newTiny(clk), never} }})
			b.StallAfter(time.Second)
			b.Apply(newPod("web", []string{"serve"}))
			b.Run(time.Minute)
		})
		assert.Contains(t, f.said, "something in the simulation waits for something outside it, and nothing can go on")
		assert.Contains(t, f.said, "waits by podworkers.Wait(ctx, d)")
		assert.Contains(t, f.said, "blocking.RunSandbox", "where")
		close(never)
		b.Resume()
		b.Crash()
	})
}

// TestSimulation_ARuntimeThatUsesATimerFailsTheTest: a runtime that waits for a channel of the clock
// fails the test with a message.
func TestSimulation_ARuntimeThatUsesATimerFailsTheTest(t *testing.T) {
	f := runStory(func(t *tb) {
		b := nodetest.New(t, nodetest.Config{Runtime: func(clk clock.Clock) runtime.Runtime { return timing{newTiny(clk), clk} }})
		b.Apply(newPod("web", []string{"serve"}))
		b.Run(time.Minute)
	})
	assert.Contains(t, f.said, "nothing waits on a clock's channel or timer: wait by podworkers.Wait(ctx, d)")
	assert.Contains(t, f.said, "timing.RunSandbox", "where")
}

type blocking struct {
	*tiny
	never chan struct{}
}

func (r blocking) RunSandbox(context.Context, runtime.RunSandboxRequest) (string, error) {
	<-r.never
	return "", nil
}

type timing struct {
	*tiny
	clock clock.Clock
}

func (r timing) RunSandbox(context.Context, runtime.RunSandboxRequest) (string, error) {
	<-r.clock.After(time.Second)
	return "", nil
}

// A runtime may wait in each of its calls, also in those by which the harness checks it.
func TestSimulation_ARuntimeThatWaitsInEachCall(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Runtime: func(clk clock.Clock) runtime.Runtime { return hesitant{newTiny(clk)} }})
	b.Apply(newPod("web", []string{"serve"}))
	b.Run(10 * time.Second)
	b.AssertStatus("web", "1/1 Running restarts=0")
	b.Delete("uid-web")
	b.Run(10 * time.Second)
	b.AssertStatus("web", "gone")
	b.Stop()
}

// hesitant is a runtime whose PodStatus takes a millisecond.
type hesitant struct{ *tiny }

func (s hesitant) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	if err := podworkers.Wait(ctx, time.Millisecond); err != nil {
		return nil, err
	}
	return s.tiny.PodStatus(ctx, uid)
}
