package memory

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// RunSandbox implements runtime.Sandboxes.
func (r *Runtime) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	return verb(ctx, r, "RunSandbox", req, (*Runtime).runSandbox)
}

// StopSandbox implements runtime.Sandboxes. It kills at once.
func (r *Runtime) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	_, err := verb(ctx, r, "StopSandbox", req, (*Runtime).stopSandbox)
	return err
}

// RemoveSandbox implements runtime.Sandboxes.
func (r *Runtime) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	_, err := verb(ctx, r, "RemoveSandbox", req, (*Runtime).removeSandbox)
	return err
}

func (r *Runtime) runSandbox(_ context.Context, req runtime.RunSandboxRequest) (string, error) {
	m := r.m
	now, err := m.lockReady()
	if err != nil {
		return "", err
	}
	defer m.unlock()
	if req.Pod.UID == "" {
		return "", errors.New("memory: a sandbox needs the UID of its pod")
	}
	if s := m.mu.status; !s.NetworkReady && !req.Namespaces.HostNetwork {
		return "", fmt.Errorf("memory: %w: %s", runtime.ErrNetworkNotReady, s.NetworkMessage)
	}
	if p := m.mu.pods[req.Pod.UID]; p != nil {
		for _, s := range p.sandboxes {
			if s.attempt == req.Attempt {
				return "", fmt.Errorf("memory: sandbox %d of pod %s: %w", req.Attempt, req.Pod.UID, runtime.ErrExists)
			}
		}
	}
	s := &sandbox{
		id: m.newIDLocked(req.Pod.UID), ref: refOf(req.Pod, nil), attempt: req.Attempt, ready: true,
		hostNetwork: req.Namespaces.HostNetwork, created: now, annotations: maps.Clone(req.Annotations),
	}
	if !req.Namespaces.HostNetwork {
		if s.ip, err = m.takeIPLocked(req.Pod.UID, req.Attempt); err != nil {
			return "", err
		}
	}
	s.pod = m.podLocked(s.ref)
	s.pod.insertSandbox(s)
	m.mu.sandboxes[s.id] = s
	m.changedLocked(s.pod, nil, now)
	return s.id, nil
}

func (r *Runtime) stopSandbox(_ context.Context, req runtime.StopSandboxRequest) (nothing, error) {
	m := r.m
	now, err := m.lockReady()
	if err != nil {
		return nothing{}, err
	}
	defer m.unlock()
	s := m.mu.sandboxes[req.SandboxID]
	if s == nil {
		return nothing{}, fmt.Errorf("memory: sandbox %s: %w", req.SandboxID, runtime.ErrNotFound)
	}
	m.stopLocked(s, now)
	return nothing{}, nil
}

func (r *Runtime) removeSandbox(_ context.Context, req runtime.RemoveSandboxRequest) (nothing, error) {
	m := r.m
	now, err := m.lockReady()
	if err != nil {
		return nothing{}, err
	}
	defer m.unlock()
	if s := m.mu.sandboxes[req.SandboxID]; s != nil {
		m.stopLocked(s, now)
		m.loseLocked(s, now)
	}
	return nothing{}, nil
}

// stopLocked kills what runs in the sandbox and takes its address.
func (m *machine) stopLocked(s *sandbox, now time.Time) {
	for _, c := range s.pod.containers {
		if c.sandbox == s && c.alive(now) {
			m.killLocked(c, now, codeKilled)
		}
	}
	m.downLocked(s, now)
}

// downLocked ends the sandbox itself.
func (m *machine) downLocked(s *sandbox, now time.Time) {
	if !s.ready {
		return
	}
	s.ready = false
	if s.ip != 0 {
		delete(m.mu.ips, s.ip)
		s.ip = 0
	}
	m.changedLocked(s.pod, nil, now)
}

// killLocked ends a container now, or its start if it is on its way.
func (m *machine) killLocked(c *container, now time.Time, code int32) {
	c.endAt(now, code)
	m.planLocked(c, now)
	m.changedLocked(c.pod, c, now)
}

// loseLocked drops the records of a sandbox and of all that is in it.
func (m *machine) loseLocked(s *sandbox, now time.Time) {
	p := s.pod
	for _, c := range slices.Clone(p.containers) {
		if c.sandbox == s {
			m.dropLocked(c, now)
		}
	}
	m.downLocked(s, now)
	p.sandboxes = slices.DeleteFunc(p.sandboxes, func(o *sandbox) bool { return o == s })
	delete(m.mu.sandboxes, s.id)
	m.changedLocked(p, nil, now)
	m.dropIfEmptyLocked(p)
}

// takeIPLocked finds a free address, beginning at one that only the pod and
// the attempt decide, so that runs that differ in order agree on addresses.
func (m *machine) takeIPLocked(uid types.UID, attempt uint32) (uint16, error) {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%d", uid, attempt)
	first := h.Sum32()
	for i := range uint32(1 << 16) {
		ip := uint16(first + i)
		host := ip & 0xff
		if host == 0 || host == 0xff || ip == 1 || m.mu.ips[ip] { // networks, broadcasts, the gateway
			continue
		}
		m.mu.ips[ip] = true
		return ip, nil
	}
	return 0, errors.New("memory: no free address in 10.88.0.0/16")
}
