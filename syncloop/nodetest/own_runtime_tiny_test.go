package nodetest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podworkers"
	rt "github.com/podkeel/podkeel/runtime"
)

// tiny is a runtime as an embedder might write one for a test: records behind a lock,
// containers that run until they are stopped, no images. A start takes two
// seconds, a stop one.
type tiny struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	made int
	pods map[types.UID]*rt.PodStatus
}

func newTiny(clk clock.PassiveClock) *tiny {
	return &tiny{clock: clk, pods: map[types.UID]*rt.PodStatus{}}
}

// ListPods implements runtime.Runtime.
func (r *tiny) ListPods(context.Context) (list []rt.Pod, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, p := range r.pods {
		pod := rt.Pod{UID: uid, Name: p.Name, Namespace: p.Namespace}
		for _, s := range p.Sandboxes {
			pod.Sandboxes = append(pod.Sandboxes, s.Sandbox)
		}
		for _, c := range p.Containers {
			pod.Containers = append(pod.Containers, c.Container)
		}
		list = append(list, pod)
	}
	slices.SortFunc(list, func(a, b rt.Pod) int { return compareUIDs(a.UID, b.UID) })
	return list, nil
}

func compareUIDs(a, b types.UID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// PodStatus implements runtime.Runtime.
func (r *tiny) PodStatus(_ context.Context, uid types.UID) (*rt.PodStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pods[uid]
	if p == nil {
		return &rt.PodStatus{UID: uid}, nil
	}
	st := *p
	st.Sandboxes, st.Containers = slices.Clone(p.Sandboxes), slices.Clone(p.Containers)
	return &st, nil
}

func (r *tiny) idLocked(kind string) string {
	r.made++
	return fmt.Sprintf("%s-%d", kind, r.made)
}

// RunSandbox implements runtime.Runtime.
func (r *tiny) RunSandbox(_ context.Context, req rt.RunSandboxRequest) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pods[req.Pod.UID]
	if p == nil {
		p = &rt.PodStatus{UID: req.Pod.UID, Name: req.Pod.Name, Namespace: req.Pod.Namespace}
		r.pods[req.Pod.UID] = p
	}
	for _, s := range p.Sandboxes {
		if s.Attempt == req.Attempt {
			return "", rt.ErrExists
		}
	}
	s := rt.SandboxStatus{HostNetwork: req.Namespaces.HostNetwork, Sandbox: rt.Sandbox{
		ID: r.idLocked("sandbox"), Attempt: req.Attempt, Incarnation: req.Pod.Incarnation,
		Ready: true, CreatedAt: r.clock.Now(), Annotations: req.Annotations,
	}}
	if !s.HostNetwork {
		s.IPs = []string{fmt.Sprintf("10.0.0.%d", r.made)}
	}
	p.Sandboxes = slices.Insert(p.Sandboxes, 0, s)
	return s.ID, nil
}

// withSandbox calls f for a sandbox and its pod.
func (r *tiny) withSandbox(id string, f func(p *rt.PodStatus, s *rt.SandboxStatus)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pods {
		for i := range p.Sandboxes {
			if p.Sandboxes[i].ID == id {
				f(p, &p.Sandboxes[i])
				return nil
			}
		}
	}
	return rt.ErrNotFound
}

// withContainer calls f for a container and its pod.
func (r *tiny) withContainer(id string, f func(p *rt.PodStatus, c *rt.ContainerStatus)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pods {
		for i := range p.Containers {
			if p.Containers[i].ID == id {
				f(p, &p.Containers[i])
				return nil
			}
		}
	}
	return rt.ErrNotFound
}

// exitContainer makes a running container exit.
func (r *tiny) exitContainer(c *rt.ContainerStatus, code int32) {
	if c.State == rt.StateRunning {
		c.State, c.ExitCode, c.FinishedAt = rt.StateExited, code, r.clock.Now()
	}
}

// StopSandbox implements runtime.Runtime.
func (r *tiny) StopSandbox(_ context.Context, req rt.StopSandboxRequest) error {
	return r.withSandbox(req.SandboxID, func(p *rt.PodStatus, s *rt.SandboxStatus) {
		s.Ready = false
		for i := range p.Containers {
			if p.Containers[i].SandboxID == s.ID {
				r.exitContainer(&p.Containers[i], 137)
			}
		}
	})
}

// RemoveSandbox implements runtime.Runtime.
func (r *tiny) RemoveSandbox(_ context.Context, req rt.RemoveSandboxRequest) error {
	_ = r.withSandbox(req.SandboxID, func(p *rt.PodStatus, s *rt.SandboxStatus) {
		id := s.ID
		p.Containers = slices.DeleteFunc(p.Containers, func(c rt.ContainerStatus) bool { return c.SandboxID == id })
		p.Sandboxes = slices.DeleteFunc(p.Sandboxes, func(s rt.SandboxStatus) bool { return s.ID == id })
		if len(p.Sandboxes) == 0 {
			delete(r.pods, p.UID)
		}
	})
	return nil
}

// CreateContainer implements runtime.Runtime.
func (r *tiny) CreateContainer(_ context.Context, req rt.CreateContainerRequest) (id string, err error) {
	missing := r.withSandbox(req.SandboxID, func(p *rt.PodStatus, s *rt.SandboxStatus) {
		for _, c := range p.Containers {
			if c.Name == req.Name && c.Attempt == req.Attempt && c.SandboxID == req.SandboxID {
				err = rt.ErrExists
				return
			}
		}
		if !s.Ready {
			err = rt.ErrWrongState
			return
		}
		id = r.idLocked("container")
		p.Containers = slices.Insert(p.Containers, 0, rt.ContainerStatus{
			Container: rt.Container{ID: id, Name: req.Name, SandboxID: req.SandboxID, Attempt: req.Attempt, Incarnation: req.Pod.Incarnation, State: rt.StateCreated},
			Image:     req.Image, ImageRef: req.ImageRef, CreatedAt: r.clock.Now(), Annotations: req.Annotations,
		})
	})
	if missing != nil {
		err = missing
	}
	return id, err
}

// StartContainer implements runtime.Runtime.
func (r *tiny) StartContainer(ctx context.Context, req rt.StartContainerRequest) error {
	if err := podworkers.Wait(ctx, 2*time.Second); err != nil {
		return err
	}
	var state rt.State
	err := r.withContainer(req.ContainerID, func(_ *rt.PodStatus, c *rt.ContainerStatus) {
		if state = c.State; state == rt.StateCreated {
			c.State, c.StartedAt = rt.StateRunning, r.clock.Now()
		}
	})
	if state == rt.StateExited {
		return rt.ErrWrongState
	}
	return err
}

// StopContainer implements runtime.Runtime.
func (r *tiny) StopContainer(ctx context.Context, req rt.StopContainerRequest) error {
	if err := podworkers.Wait(ctx, min(req.Grace, time.Second)); err != nil {
		return err
	}
	return r.withContainer(req.ContainerID, func(_ *rt.PodStatus, c *rt.ContainerStatus) { r.exitContainer(c, 143) })
}

// RemoveContainer implements runtime.Runtime.
func (r *tiny) RemoveContainer(_ context.Context, req rt.RemoveContainerRequest) (err error) {
	_ = r.withContainer(req.ContainerID, func(p *rt.PodStatus, c *rt.ContainerStatus) {
		if c.State == rt.StateRunning || req.NeverRan && c.State != rt.StateCreated {
			err = rt.ErrWrongState
			return
		}
		id := c.ID
		p.Containers = slices.DeleteFunc(p.Containers, func(c rt.ContainerStatus) bool { return c.ID == id })
	})
	return err
}

// PullImage implements runtime.Runtime.
func (*tiny) PullImage(_ context.Context, req rt.PullImageRequest) (string, error) {
	return req.Image, nil
}

// ImageStatus implements runtime.Runtime.
func (*tiny) ImageStatus(_ context.Context, req rt.ImageStatusRequest) (rt.Image, error) {
	return rt.Image{ID: req.Image}, nil
}

// ListImages implements runtime.Runtime.
func (*tiny) ListImages(context.Context) ([]rt.Image, error) { return nil, nil }

// RemoveImage implements runtime.Runtime.
func (*tiny) RemoveImage(context.Context, rt.RemoveImageRequest) error { return nil }
