package main

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// PodStatus implements runtime.PodLister.
func (p *processes) PodStatus(_ context.Context, uid types.UID) (*runtime.PodStatus, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.copyStatusLocked(uid), nil
}

// copyStatusLocked returns a copy of the records of a pod's sandboxes and containers, the newest first.
func (p *processes) copyStatusLocked(uid types.UID) *runtime.PodStatus {
	st := &runtime.PodStatus{UID: uid}
	for _, s := range p.mu.sandboxes {
		if s.pod.UID != uid {
			continue
		}
		st.Name, st.Namespace = s.pod.Name, s.pod.Namespace
		st.Sandboxes = append(st.Sandboxes, s.SandboxStatus)
		for _, c := range p.containersInLocked(s.ID) {
			st.Containers = append(st.Containers, c.ContainerStatus)
		}
	}
	st.Sort()
	return st
}

// containersInLocked returns the containers of a sandbox.
func (p *processes) containersInLocked(sandbox string) (all []*process) {
	for _, c := range p.mu.containers {
		if c.SandboxID == sandbox {
			all = append(all, c)
		}
	}
	return all
}

// ignoreNotFound returns nil for ErrNotFound, and any other error unchanged.
func ignoreNotFound(err error) error {
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	return err
}
