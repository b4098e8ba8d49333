package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// exited are attempts at a container that have exited, the oldest first.
func exited(name string, attempts int) (all []runtime.ContainerStatus) {
	for i := range attempts {
		at := now.Add(time.Duration(i-attempts) * time.Minute)
		all = append(all, runtime.ContainerStatus{
			Container: runtime.Container{ID: fmt.Sprint(name, i), Name: name, Attempt: uint32(i), State: runtime.StateExited},
			CreatedAt: at, FinishedAt: at,
		})
	}
	return all
}

func decide(p policy.Containers, containers ...runtime.ContainerStatus) policy.Removals {
	return p.Decide([]*runtime.PodStatus{{UID: "u", Containers: containers}}, now)[0]
}

func TestRemovals_Empty(t *testing.T) {
	assert.True(t, (&policy.Removals{}).Empty())
	assert.False(t, (&policy.Removals{Containers: []string{"c"}, Sandboxes: []string{"s"}}).Empty(), "one of each")
}

// The maximum of all pods is what may be there, and no less; a container that runs has
// no share of it.
func TestContainers_MaxContainers(t *testing.T) {
	p := policy.Containers{MaxPerPodContainer: -1, MaxContainers: 4}
	assert.Empty(t, decide(p, append(exited("a", 3), exited("b", 1)...)...).Containers, "just as many")
	assert.Equal(t, []string{"a0"}, decide(p, append(exited("a", 4), exited("b", 1)...)...).Containers[:1], "one too many")
	running := exited("b", 1)
	running[0].State = runtime.StateRunning
	assert.Equal(t, []string{"a0"}, decide(p, append(exited("a", 5), running...)...).Containers)
}

// Of sandboxes that nobody uses the newest stays, in whatever order they are given; the
// oldest go first.
func TestContainers_Sandboxes(t *testing.T) {
	sandbox := func(attempt uint32) runtime.SandboxStatus {
		return runtime.SandboxStatus{Sandbox: runtime.Sandbox{ID: fmt.Sprint("s", attempt), Attempt: attempt}}
	}
	for _, order := range [][]uint32{{0, 1, 2, 3}, {3, 2, 1, 0}, {3, 0, 2, 1}, {1, 3, 0, 2}} {
		pod := &runtime.PodStatus{UID: "u"}
		for _, attempt := range order {
			pod.Sandboxes = append(pod.Sandboxes, sandbox(attempt))
		}
		r := policy.Containers{}.Decide([]*runtime.PodStatus{pod}, now)[0]
		assert.Equal(t, []string{"s0", "s1", "s2"}, r.Sandboxes, "%v", order)
	}
}

// A disk whose size is no multiple of 100 bytes.
func TestImages_TooMuch(t *testing.T) {
	p := policy.Images{}.Complete()
	assert.Equal(t, uint64(160), p.TooMuch(policy.Disk{CapacityBytes: 1050, UsedBytes: 1000}), "down to 840")
	assert.Equal(t, uint64(0), p.TooMuch(policy.Disk{CapacityBytes: 1050, UsedBytes: 840}))
	p.HighThresholdPercent = 80
	assert.Equal(t, uint64(0), p.TooMuch(policy.Disk{CapacityBytes: 1050, UsedBytes: 840}), "just as much as may be")
	assert.Equal(t, uint64(1), p.TooMuch(policy.Disk{CapacityBytes: 1050, UsedBytes: 841}))
}
