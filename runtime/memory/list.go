package memory

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// ListPods implements runtime.PodLister. The pods are sorted by UID. While nothing changes, neither
// by a call nor by time, ListPods returns the same slice.
func (r *Runtime) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	return instrumentCall(ctx, r, "ListPods", nothing{}, (*Runtime).listPods)
}

// PodStatus implements runtime.PodLister. While nothing changes, it returns the same pointer.
func (r *Runtime) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	return instrumentCall(ctx, r, "PodStatus", uid, (*Runtime).podStatus)
}

// listPods returns all pods, sorted by UID. Callers share the result, which is cached until the next change.
func (r *Runtime) listPods(context.Context, nothing) ([]runtime.Pod, error) {
	m := r.m
	now, err := m.lockIfReady()
	if err != nil {
		return nil, err
	}
	defer m.unlockAndSignal()
	if !m.mu.listIsCurrent {
		list := make([]runtime.Pod, len(m.mu.sortedPods))
		for i, p := range m.mu.sortedPods {
			list[i] = p.listEntry(now)
		}
		m.mu.cachedList, m.mu.listIsCurrent = list, true
	}
	return m.mu.cachedList, nil
}

// podStatus returns the status of a pod. For an unknown pod the status has only the UID.
func (r *Runtime) podStatus(_ context.Context, uid types.UID) (*runtime.PodStatus, error) {
	m := r.m
	now, err := m.lockIfReady()
	if err != nil {
		return nil, err
	}
	defer m.unlockAndSignal()
	if p := m.mu.pods[uid]; p != nil {
		return p.podStatus(now), nil
	}
	return &runtime.PodStatus{UID: uid}, nil
}
