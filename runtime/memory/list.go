package memory

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// ListPods implements runtime.PodLister. The pods are in order of UID. As long
// as nothing has changed, by a call or by time, the same slice is returned.
func (r *Runtime) ListPods(ctx context.Context) ([]runtime.Pod, error) {
	return verb(ctx, r, "ListPods", nothing{}, (*Runtime).listPods)
}

// PodStatus implements runtime.PodLister. As long as nothing has changed the
// same status is returned.
func (r *Runtime) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	return verb(ctx, r, "PodStatus", uid, (*Runtime).podStatus)
}

func (r *Runtime) listPods(context.Context, nothing) ([]runtime.Pod, error) {
	m := r.m
	now, err := m.lockReady()
	if err != nil {
		return nil, err
	}
	defer m.unlock()
	if !m.mu.fresh {
		list := make([]runtime.Pod, len(m.mu.order))
		for i, p := range m.mu.order {
			list[i] = p.show(now)
		}
		m.mu.list, m.mu.fresh = list, true
	}
	return m.mu.list, nil
}

func (r *Runtime) podStatus(_ context.Context, uid types.UID) (*runtime.PodStatus, error) {
	m := r.m
	now, err := m.lockReady()
	if err != nil {
		return nil, err
	}
	defer m.unlock()
	if p := m.mu.pods[uid]; p != nil {
		return p.showAll(now), nil
	}
	return &runtime.PodStatus{UID: uid}, nil
}
