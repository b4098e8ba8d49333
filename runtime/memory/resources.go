package memory

import (
	"context"
	"fmt"
	"maps"

	"github.com/podkeel/podkeel/runtime"
)

// UpdateContainer implements runtime.Updater. It stores the resources for Resources to return. Only
// the memory limit has an effect: on PodStats, and on a container whose script changes its memory, as
// Run.Memory says. It returns ErrNotFound, or ErrWrongState for a
// container that has exited.
func (r *Runtime) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	_, err := instrumentCall(ctx, r, "UpdateContainer", req, (*Runtime).updateContainer)
	return err
}

// Resources returns the resources of a container: the resources of its request, updated by all
// calls of UpdateContainer. It returns false for an unknown container.
func (r *Runtime) Resources(id string) (runtime.Resources, bool) {
	r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	c := r.m.mu.containers[id]
	if c == nil {
		return runtime.Resources{}, false
	}
	res := *c.resources
	res.HugePages = maps.Clone(res.HugePages)
	return res, true
}

// updateContainer sets each resource of a container for which the request has a non-zero value. It returns an
// error if the container is unknown or has exited, or if the runtime is not ready.
func (r *Runtime) updateContainer(_ context.Context, req runtime.UpdateContainerRequest) (nothing, error) {
	m := r.m
	now, err := m.lockIfReady()
	if err != nil {
		return nothing{}, err
	}
	defer m.unlockAndSignal()
	c := m.mu.containers[req.ContainerID]
	switch {
	case c == nil:
		return nothing{}, fmt.Errorf("memory: container %s: %w", req.ContainerID, runtime.ErrNotFound)
	case c.state(now) == runtime.StateExited:
		return nothing{}, fmt.Errorf("memory: container %s has exited: %w", c.id, runtime.ErrWrongState)
	}
	c.resources = mergeResources(*c.resources, req.Resources)
	c.pod.cachedStatus = nil
	if c.run != nil && len(c.run.Memory) > 0 {
		c.scheduleOOMKill(now)
		m.scheduleChangeAndSignalLocked(c, now)
		if c.state(now) == runtime.StateExited {
			m.publishChangeLocked(c.pod, c, now)
		}
	}
	return nothing{}, nil
}

// mergeResources returns a copy of have in which the non-zero fields of want are set.
func mergeResources(have, want runtime.Resources) *runtime.Resources {
	have.HugePages = maps.Clone(have.HugePages)
	copyNonZeroFields(&have, want)
	return &have
}

// copyNonZeroFields copies the non-zero fields of want to have. It sets each huge page size in want, and leaves the
// other sizes.
func copyNonZeroFields(have *runtime.Resources, want runtime.Resources) {
	setIfNonZero(&have.CPUShares, want.CPUShares)
	setIfNonZero(&have.CPUPeriod, want.CPUPeriod)
	setIfNonZero(&have.CPUQuota, want.CPUQuota)
	setIfNonZero(&have.MemoryBytes, want.MemoryBytes)
	setIfNonZero(&have.SwapBytes, want.SwapBytes)
	setIfNonZero(&have.CPUSet, want.CPUSet)
	setIfNonZero(&have.MemorySet, want.MemorySet)
	setIfNonZero(&have.OOMScoreAdj, want.OOMScoreAdj)
	setIfNonZero(&have.PIDs, want.PIDs)
	for size, bytes := range want.HugePages {
		if have.HugePages == nil {
			have.HugePages = map[string]uint64{}
		}
		have.HugePages[size] = bytes
	}
}

// setIfNonZero assigns want to have unless want is zero.
func setIfNonZero[V comparable](have *V, want V) {
	var none V
	if want != none {
		*have = want
	}
}
