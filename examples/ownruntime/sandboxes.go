package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// processes is a runtime.Runtime whose containers are processes.
type processes struct {
	runtime.NoImages // An image is only a name.

	mu struct {
		sync.Mutex
		sandboxes  map[string]*sandbox
		containers map[string]*process
		made       int // number of IDs so far
	}
}

// sandbox is only a record: the processes share the machine.
type sandbox struct {
	runtime.SandboxStatus
	pod runtime.PodRef
}

func newProcesses() *processes {
	p := &processes{}
	p.mu.sandboxes, p.mu.containers = map[string]*sandbox{}, map[string]*process{}
	return p
}

// newIDLocked returns a new ID that begins with prefix.
func (p *processes) newIDLocked(prefix string) string {
	p.mu.made++
	return fmt.Sprint(prefix, "-", p.mu.made)
}

// RunSandbox implements runtime.Sandboxes.
func (p *processes) RunSandbox(_ context.Context, req runtime.RunSandboxRequest) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.mu.sandboxes {
		if s.pod.UID == req.Pod.UID && s.Attempt == req.Attempt {
			return "", fmt.Errorf("sandbox %d of %s: %w", req.Attempt, req.Pod.Name, runtime.ErrExists)
		}
	}
	s := &sandbox{pod: req.Pod}
	s.Sandbox = runtime.Sandbox{
		ID: p.newIDLocked("sandbox"), Attempt: req.Attempt, Incarnation: req.Pod.Incarnation,
		Ready: true, CreatedAt: time.Now(), Annotations: req.Annotations,
	}
	s.HostNetwork = req.Namespaces.HostNetwork
	if !s.HostNetwork {
		s.IPs = []string{"127.0.0.1"}
	}
	p.mu.sandboxes[s.ID] = s
	return s.ID, nil
}

// StopSandbox implements runtime.Sandboxes.
func (p *processes) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	p.mu.Lock()
	s := p.mu.sandboxes[req.SandboxID]
	var left []*process
	if s != nil {
		s.Ready = false
		left = p.containersInLocked(s.ID)
	}
	p.mu.Unlock()
	if s == nil {
		return fmt.Errorf("sandbox %s: %w", req.SandboxID, runtime.ErrNotFound)
	}
	for _, c := range left {
		if err := p.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: c.ID}); err != nil {
			return err
		}
	}
	return nil
}

// RemoveSandbox implements runtime.Sandboxes.
func (p *processes) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	if err := p.StopSandbox(ctx, runtime.StopSandboxRequest(req)); err != nil {
		return ignoreNotFound(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.containersInLocked(req.SandboxID) {
		delete(p.mu.containers, c.ID)
	}
	delete(p.mu.sandboxes, req.SandboxID)
	return nil
}

// ListPods implements runtime.PodLister.
func (p *processes) ListPods(context.Context) ([]runtime.Pod, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pods []runtime.Pod
	seen := map[types.UID]bool{}
	for _, s := range p.mu.sandboxes {
		if seen[s.pod.UID] {
			continue
		}
		seen[s.pod.UID] = true
		pods = append(pods, p.copyStatusLocked(s.pod.UID).Pod())
	}
	return pods, nil
}
