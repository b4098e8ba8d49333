package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/runtime/runtimetest"
)

// newConformanceHarness returns the harness of a machine with the minimum of slack, because virtual time needs none.
func newConformanceHarness(clk clock.Clock) runtimetest.Harness {
	r := memory.New(memory.Config{Clock: clk})
	r.FailPulls("nowhere.invalid/none", errNoRegistry)
	return runtimetest.Harness{
		Runtime: r, Clock: clk, Image: "busybox", MissingImage: "nowhere.invalid/none", Slack: time.Nanosecond,
		Skip: lacking,
		HandlerAnnotations: map[string]string{
			memory.AnnotationPrefix + "main.liveness":  "fail",
			memory.AnnotationPrefix + "main.readiness": "hang",
		},
		Reopen: func(meanwhile func()) (runtime.Runtime, error) {
			meanwhile()
			return r.WithClock(clk), nil
		},
	}
}

// lacking are the cases about the environment of a container's main process, which runs no program
// here. Exec has the environment of the container.
var lacking = map[string]string{
	"container/env":         "containers in memory run nothing that has an environment",
	"container/working-dir": "containers in memory run nothing that has a directory",
	"stop/signal":           "containers in memory end on TERM, whatever the signal is",
	"stop/descendants":      "containers in memory start nothing",
}

func TestConformance_InABubble(t *testing.T) {
	runtimetest.RunInBubble(t, func(t *testing.T) runtimetest.Harness { return newConformanceHarness(clock.RealClock{}) })
}

func TestConformance_InTheSimulation(t *testing.T) {
	for _, c := range runtimetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			for seed := range uint64(5) {
				s := executor.NewScheduler(seed, time.Unix(1_700_000_000, 0))
				p := s.NewProcess()
				done := false
				p.Go(func() {
					c.Run(t, newConformanceHarness(p.Clock()))
					done = true
				})
				s.RunUntil(s.Now().Add(24 * time.Hour))
				require.True(t, done, "seed %d: the case never ended", seed)
			}
		})
	}
}

// The suite runs on a second view of a machine whose first view has crashed.
func TestConformance_OnAViewAfterACrash(t *testing.T) {
	s := executor.NewScheduler(1, time.Unix(1_700_000_000, 0))
	machine, first, second := s.NewProcess(), s.NewProcess(), s.NewProcess()
	h := newConformanceHarness(machine.Clock())
	first.Go(func() { _, _ = h.Runtime.(*memory.Runtime).WithClock(first.Clock()).ListPods(t.Context()) })
	first.Crash()
	done := 0
	second.Go(func() {
		for _, c := range runtimetest.Cases() {
			mine := h
			mine.Runtime, mine.Clock = h.Runtime.(*memory.Runtime).WithClock(second.Clock()), second.Clock()
			c.Run(t, mine)
			done++
		}
	})
	s.RunUntil(s.Now().Add(1000 * time.Hour))
	require.Equal(t, len(runtimetest.Cases()), done)
}
