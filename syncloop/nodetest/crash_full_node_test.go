package nodetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// limitedHarness has room for a pod with a deadline and one beside it that asks
// for the rest; a third one is too many.
func limitedHarness(t *testing.T) *nodetest.Simulation {
	b := nodetest.New(t, nodetest.Config{
		Seed: 3, Node: node.Config{Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("3")}}},
	})
	asking := func(p *v1.Pod, cpu string) *v1.Pod {
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
		return p
	}
	short := asking(newPod("short", []string{"serve"}), "1")
	short.Spec.ActiveDeadlineSeconds = new(int64(5))
	short.Spec.TerminationGracePeriodSeconds = new(int64(3))
	short.Annotations = map[string]string{"memory.podkeel.dev/c0": "run=forever ignore-term"}
	b.Apply(short)
	b.Apply(asking(newPod("long", []string{"serve"}), "2"))
	return b
}

// limitedStory lets a third pod come when the two have their places.
func limitedStory(b *nodetest.Simulation, until func() bool) {
	step := func(to time.Duration) {
		for end := nodetest.Epoch.Add(to); b.Now().Before(end) && !until(); {
			b.StepUntil(end)
		}
	}
	step(1300 * time.Millisecond)
	third := newPod("third", []string{"serve"})
	third.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1m")}
	if b.Now().Before(nodetest.Epoch.Add(1300 * time.Millisecond)) {
		return
	}
	b.Apply(third)
	step(10 * time.Second)
}

// TestCrash_P23_I42_AtEveryStep crashes the agent once at each step of a story
// of a deadline and a full node: the deadline is kept by whichever agent there
// is, nothing is started beyond it, and who had a place keeps it.
func TestCrash_P23_I42_AtEveryStep(t *testing.T) {
	whole := limitedHarness(t)
	limitedStory(whole, func() bool { return false })
	steps := whole.Steps()
	whole.Stop()
	t.Logf("%d steps", steps)
	for k := 1; k <= steps; k += crashStride(steps) {
		b := limitedHarness(t)
		limitedStory(b, func() bool { return b.Steps() >= k })
		before := runningContainers(b.Machine())
		b.Crash()
		b.Start()
		b.Run(90 * time.Second)
		after := runningContainers(b.Machine())
		require.NotContains(t, after, "short/c0", "the crash at step %d: its time is over", k)
		require.Contains(t, after, "long/c0", "the crash at step %d", k)
		if id, ok := before["long/c0"]; ok {
			require.Equal(t, id, after["long/c0"], "the crash at step %d: it has kept its place", k)
		}
		require.Empty(t, startsAfter(b.Transcript(), "pod default/short", 5*time.Second), "the crash at step %d", k)
		for _, p := range b.Node().Pods() {
			if p.Name == "short" {
				require.Equal(t, "DeadlineExceeded", p.Status.Reason, "the crash at step %d", k)
			}
		}
		b.Stop()
	}
}

// startsAfter are the starts that a transcript tells of a pod after a time.
func startsAfter(transcript, pod string, limit time.Duration) (late []string) {
	mine := false
	for line := range strings.Lines(transcript) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "pod "):
			mine = strings.TrimSpace(line) == pod
		case mine && len(words) > 1 && words[1] == "StartContainer":
			if at, err := time.ParseDuration(words[0]); err != nil || at > limit {
				late = append(late, line)
			}
		}
	}
	return late
}
