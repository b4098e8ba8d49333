package memory

import (
	"context"
	"fmt"
	"maps"

	"github.com/podkeel/podkeel/runtime"
)

// UpdateContainer implements runtime.Updater. Nothing depends on a container's
// resources but what PodStats says of its memory; Resources shows them.
// ErrNotFound, or ErrWrongState for a container that has exited.
func (r *Runtime) UpdateContainer(ctx context.Context, req runtime.UpdateContainerRequest) error {
	_, err := instrumentCall(ctx, r, "UpdateContainer", req, (*Runtime).updateContainer)
	return err
}

// Resources are those of a container's request with all updates by UpdateContainer
// applied. It reports false for an unknown container.
func (r *Runtime) Resources(id string) (runtime.Resources, bool) {
	r.m.lock()
	defer r.m.unlock()
	c := r.m.mu.containers[id]
	if c == nil {
		return runtime.Resources{}, false
	}
	res := *c.resources
	res.HugePages = maps.Clone(res.HugePages)
	return res, true
}

func (r *Runtime) updateContainer(_ context.Context, req runtime.UpdateContainerRequest) (nothing, error) {
	m := r.m
	now, err := m.lockIfReady()
	if err != nil {
		return nothing{}, err
	}
	defer m.unlock()
	c := m.mu.containers[req.ContainerID]
	switch {
	case c == nil:
		return nothing{}, fmt.Errorf("memory: container %s: %w", req.ContainerID, runtime.ErrNotFound)
	case c.state(now) == runtime.StateExited:
		return nothing{}, fmt.Errorf("memory: container %s has exited: %w", c.id, runtime.ErrWrongState)
	}
	c.resources = mergeResources(*c.resources, req.Resources)
	return nothing{}, nil
}

// mergeResources is a copy of what there is, with what is asked for.
func mergeResources(have, want runtime.Resources) *runtime.Resources {
	have.HugePages = maps.Clone(have.HugePages)
	applyNonZero(&have, want)
	return &have
}

// applyNonZero changes what is asked for; zero fields ask for nothing.
func applyNonZero(have *runtime.Resources, want runtime.Resources) {
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

func setIfNonZero[V comparable](have *V, want V) {
	var none V
	if want != none {
		*have = want
	}
}
