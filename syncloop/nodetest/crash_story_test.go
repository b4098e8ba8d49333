package nodetest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// crashStory is long enough to hold every kind of step: pods that come, fail,
// finish, are removed with a grace that is used up, and come again.
func crashStory(b *nodetest.Simulation, until func() bool) {
	web := newPod("web", []string{"serve"})
	initial := newPod("init", []string{"serve"})
	initial.Spec.InitContainers = []v1.Container{{Name: "i0", Image: "init:1", Command: []string{"sleep", "2"}}}
	deaf := newPod("deaf", []string{"serve"})
	deaf.Annotations = map[string]string{"memory.podkeel.dev/c0": "run=forever ignore-term"}
	job := newPod("job", []string{"sleep", "3"})
	job.Spec.RestartPolicy = v1.RestartPolicyNever
	crash := newPod("crash", []string{"sh", "-c", "sleep 2; exit 1"})
	acts := []struct {
		at  time.Duration
		act func()
	}{
		{0, func() { b.Apply(web); b.Apply(initial); b.Apply(deaf); b.Apply(job); b.Apply(crash) }},
		{4 * time.Second, func() { b.Delete(deaf.UID) }},
		{5 * time.Second, func() { b.Delete(web.UID) }},
		{6 * time.Second, func() { b.Apply(web) }},
	}
	for len(acts) > 0 && !until() {
		if due := nodetest.Epoch.Add(acts[0].at); !b.Now().Before(due) {
			acts[0].act()
			acts = acts[1:]
			continue
		}
		b.StepUntil(nodetest.Epoch.Add(acts[0].at))
	}
	for b.Now().Before(nodetest.Epoch.Add(20*time.Second)) && !until() {
		b.StepUntil(nodetest.Epoch.Add(20 * time.Second))
	}
	for _, rest := range acts {
		rest.act() // The desired pods do not depend on the agent.
	}
}

// TestCrash_I34_I35_I37_AtEveryStep crashes the agent once at each step of the
// story, starts another, and compares the machine once it is idle.
func TestCrash_I34_I35_I37_AtEveryStep(t *testing.T) {
	whole := nodetest.New(t, nodetest.Config{Seed: 7})
	crashStory(whole, func() bool { return false })
	steps := whole.Steps()
	whole.Stop()
	t.Logf("%d steps", steps)
	for k := 1; k <= steps; k += crashStride(steps) {
		crashAt(t, k)
		if t.Failed() {
			t.Fatalf("the crash at step %d", k)
		}
	}
}

// crashStride returns how many steps are from one crash of a story to the next one.
func crashStride(steps int) int {
	stride := longtest.Stride(steps, 60)
	if raced {
		return max(stride, 7)
	}
	return stride
}

func crashAt(t *testing.T, k int) {
	b := nodetest.New(t, nodetest.Config{Seed: 7})
	crashed := false
	crashStory(b, func() bool {
		if !crashed && b.Steps() >= k {
			crashed = true
		}
		return crashed
	})
	before := runningContainers(b.Machine())
	b.Crash()
	b.Start()
	b.Run(2 * time.Minute)
	after := runningContainers(b.Machine())
	require.Subset(t, []string{"web/c0", "init/c0", "crash/c0"}, sortedNames(after), "only desired containers run")
	require.Contains(t, sortedNames(after), "web/c0")
	require.Contains(t, sortedNames(after), "init/c0")
	for name, id := range before {
		if name == "init/c0" {
			require.Equal(t, id, after[name], "a container of an unchanged pod is left alone (I35)")
		}
	}
	b.Stop()
}
