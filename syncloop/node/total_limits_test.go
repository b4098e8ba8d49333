package node_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// failingTotals is a CgroupManager that fails to write the limits of all pods together for some calls.
type failingTotals struct {
	mu       sync.Mutex
	failures int
	written  []cgroups.Values
}

func (f *failingTotals) EnsureQOS(v cgroups.QOSValues) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failures--; f.failures >= 0 {
		return errors.New("the file is busy")
	}
	f.written = append(f.written, v.Root)
	return nil
}

func (f *failingTotals) Ensure(types.UID, podresources.PodValues, int64) (string, error) {
	return "", nil
}
func (f *failingTotals) List() ([]types.UID, error)              { return nil, nil }
func (f *failingTotals) Remove(context.Context, types.UID) error { return nil }

// TestNode_CG19_CG20_Events: each failure to write the limits of all pods together is a warning event, and the first success
// is a normal one. Later checks of the limits are no events.
func TestNode_CG19_CG20_Events(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, groups := &annotations{}, &failingTotals{failures: 2}
		list := func(cpu, memory string) v1.ResourceList {
			return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
		}
		runConfig(t, node.Config{
			Runtime: memory.New(memory.Config{}), Recorder: events,
			Cgroups:    node.CgroupsConfig{PodCgroups: groups, EnforceAllocatable: true, MaxTotalPIDs: 9},
			Scheduling: node.SchedulingConfig{Capacity: list("4", "4Gi"), Reserved: list("500m", "1Gi"), MachineCapacity: list("8", "8Gi")},
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		failed := "Node Warning FailedNodeAllocatableEnforcement: Failed to update Node Allocatable Limits: the file is busy"
		assert.Equal(t, []string{failed, failed, "Node Normal SuccessfulNodeAllocatableEnforcement: Updated Node Allocatable limit across pods"}, events.allEnds())
		groups.mu.Lock()
		defer groups.mu.Unlock()
		assert.Len(t, groups.written, 12)
		want := cgroups.Values{CPUShares: podresources.Finite(3584), Memory: podresources.Finite(3 << 30), PIDs: podresources.Finite(9)}
		assert.Equal(t, []cgroups.Values{want}, slices.Compact(groups.written))
	})
}

// TestNode_CG19_NoLimitOfZero: without allocatable memory, and with more than a number can hold, the pods have no limit of
// memory together. A limit of 0 would kill them.
func TestNode_CG19_NoLimitOfZero(t *testing.T) {
	for _, memoryText := range []string{"10E", "0", "1e30"} {
		synctest.Test(t, func(t *testing.T) {
			groups := &failingTotals{}
			runConfig(t, node.Config{
				Runtime:    memory.New(memory.Config{}),
				Cgroups:    node.CgroupsConfig{PodCgroups: groups, EnforceAllocatable: true},
				Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{v1.ResourceMemory: resource.MustParse(memoryText)}},
			})
			time.Sleep(time.Second)
			synctest.Wait()
			groups.mu.Lock()
			defer groups.mu.Unlock()
			assert.Equal(t, []cgroups.Values{{Memory: podresources.Unlimited(), PIDs: podresources.Unlimited()}}, groups.written, memoryText)
		})
	}
}
