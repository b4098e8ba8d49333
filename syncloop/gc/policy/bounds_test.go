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

// Of unused sandboxes the newest stays, in whatever order they are given; the
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
func TestImages_BytesToFree(t *testing.T) {
	p := policy.Images{}.Complete()
	assert.Equal(t, uint64(160), p.BytesToFree(policy.Disk{CapacityBytes: 1050, UsedBytes: 1000}), "down to 840")
	assert.Equal(t, uint64(0), p.BytesToFree(policy.Disk{CapacityBytes: 1050, UsedBytes: 840}))
	p.HighThresholdPercent = 80
	assert.Equal(t, uint64(0), p.BytesToFree(policy.Disk{CapacityBytes: 1050, UsedBytes: 840}), "just as much as may be")
	assert.Equal(t, uint64(1), p.BytesToFree(policy.Disk{CapacityBytes: 1050, UsedBytes: 841}))
}

// An image may go from the moment on at which it is as old as the least age.
func TestImages_MinAge(t *testing.T) {
	p := policy.Images{}.Complete()
	seen := func(age time.Duration) []policy.Image { return []policy.Image{{ID: "i", FirstSeen: now.Add(-age)}} }
	assert.Empty(t, p.ToRemove(seen(2*time.Minute-1), now, now, true))
	assert.Len(t, p.ToRemove(seen(2*time.Minute), now, now, true), 1)
}

// Only a negative number turns rotation off: a zero one has its default.
func TestLogs_Never(t *testing.T) {
	assert.False(t, policy.Logs{}.IsDisabled())
	assert.True(t, policy.Logs{MaxBytes: -1}.IsDisabled())
	assert.True(t, policy.Logs{MaxFiles: -1}.IsDisabled())
}

// A rotated file of the last valid year is accepted; a file of a later year is ignored.
func TestLogs_LastYear(t *testing.T) {
	p := policy.Logs{MaxBytes: 1, MaxFiles: 2}
	r := p.Rotate("0.log", []policy.LogFile{{Name: "0.log.90001231-235959"}, {Name: "0.log.90010101-000000"}}, now)
	assert.Equal(t, []string{"0.log.90001231-235959"}, r.Remove)
	assert.Equal(t, "0.log.90010101-000000", r.Name)
}
