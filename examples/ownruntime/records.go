package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// PodStatus implements runtime.PodLister.
func (p *processes) PodStatus(_ context.Context, uid types.UID) (*runtime.PodStatus, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.statusLocked(uid), nil
}

// statusLocked copies the records of a pod, of which the newest come first.
func (p *processes) statusLocked(uid types.UID) *runtime.PodStatus {
	st := &runtime.PodStatus{UID: uid}
	for _, s := range p.mu.sandboxes {
		if s.pod.UID != uid {
			continue
		}
		st.Name, st.Namespace = s.pod.Name, s.pod.Namespace
		st.Sandboxes = append(st.Sandboxes, s.SandboxStatus)
		for _, c := range p.inLocked(s.ID) {
			st.Containers = append(st.Containers, c.ContainerStatus)
		}
	}
	slices.SortFunc(st.Sandboxes, func(a, b runtime.SandboxStatus) int { return cmp.Compare(b.Attempt, a.Attempt) })
	slices.SortFunc(st.Containers, func(a, b runtime.ContainerStatus) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(b.Attempt, a.Attempt), b.CreatedAt.Compare(a.CreatedAt))
	})
	return st
}

// shallow is the part of a status that a list has.
func shallow(st *runtime.PodStatus) runtime.Pod {
	pod := runtime.Pod{UID: st.UID, Name: st.Name, Namespace: st.Namespace}
	for _, s := range st.Sandboxes {
		pod.Sandboxes = append(pod.Sandboxes, s.Sandbox)
	}
	for _, c := range st.Containers {
		pod.Containers = append(pod.Containers, c.Container)
	}
	return pod
}

// inLocked are the containers of a sandbox.
func (p *processes) inLocked(sandbox string) (all []*process) {
	for _, c := range p.mu.containers {
		if c.SandboxID == sandbox {
			all = append(all, c)
		}
	}
	return all
}

func ignoreNotFound(err error) error {
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	return err
}

// images is a runtime.Images without images: every name is present.
type images struct{}

// PullImage implements runtime.Images.
func (images) PullImage(_ context.Context, req runtime.PullImageRequest) (string, error) {
	return req.Image, nil
}

// ImageStatus implements runtime.Images.
func (images) ImageStatus(_ context.Context, req runtime.ImageStatusRequest) (runtime.Image, error) {
	return runtime.Image{ID: req.Image}, nil
}

// ListImages implements runtime.Images.
func (images) ListImages(context.Context) ([]runtime.Image, error) { return nil, nil }

// RemoveImage implements runtime.Images.
func (images) RemoveImage(context.Context, runtime.RemoveImageRequest) error { return nil }
