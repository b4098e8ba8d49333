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
	return instrumentCall(ctx, r, "RunSandbox", req, (*Runtime).runSandbox)
}

// StopSandbox implements runtime.Sandboxes. It kills all containers at once.
func (r *Runtime) StopSandbox(ctx context.Context, req runtime.StopSandboxRequest) error {
	_, err := instrumentCall(ctx, r, "StopSandbox", req, (*Runtime).stopSandbox)
	return err
}

// RemoveSandbox implements runtime.Sandboxes.
func (r *Runtime) RemoveSandbox(ctx context.Context, req runtime.RemoveSandboxRequest) error {
	_, err := instrumentCall(ctx, r, "RemoveSandbox", req, (*Runtime).removeSandbox)
	return err
}

// runSandbox creates a ready sandbox and returns its ID. It allocates an IP address unless the sandbox uses the
// host network. It returns an error if the pod has no UID, the attempt exists, no address is free, or the
// runtime or a needed network is not ready.
func (r *Runtime) runSandbox(_ context.Context, req runtime.RunSandboxRequest) (string, error) {
	m := r.m
	now, err := m.lockIfReady()
	if err != nil {
		return "", err
	}
	defer m.unlockAndSignal()
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
		id: m.nextDeterministicIDLocked(req.Pod.UID), ref: reusePodRefIfEqual(req.Pod, nil), attempt: req.Attempt, ready: true,
		hostNetwork: req.Namespaces.HostNetwork, created: now, annotations: maps.Clone(req.Annotations),
	}
	if !req.Namespaces.HostNetwork {
		if s.ip, err = m.allocateIPLocked(req.Pod.UID, req.Attempt); err != nil {
			return "", err
		}
	}
	s.pod = m.ensurePodAndUpdateRefLocked(s.ref)
	s.pod.insertSandbox(s)
	m.mu.sandboxes[s.id] = s
	m.publishChangeLocked(s.pod, nil, now)
	return s.id, nil
}

// stopSandbox kills the containers of a sandbox, sets the sandbox to not ready and releases its IP address. It
// returns ErrNotFound if the sandbox is unknown.
func (r *Runtime) stopSandbox(_ context.Context, req runtime.StopSandboxRequest) (nothing, error) {
	m := r.m
	now, err := m.lockIfReady()
	if err != nil {
		return nothing{}, err
	}
	defer m.unlockAndSignal()
	s := m.mu.sandboxes[req.SandboxID]
	if s == nil {
		return nothing{}, fmt.Errorf("memory: sandbox %s: %w", req.SandboxID, runtime.ErrNotFound)
	}
	m.stopSandboxLocked(s, now)
	return nothing{}, nil
}

// removeSandbox stops a sandbox and removes it with its containers. It returns nil if the sandbox is unknown.
func (r *Runtime) removeSandbox(_ context.Context, req runtime.RemoveSandboxRequest) (nothing, error) {
	m := r.m
	now, err := m.lockIfReady()
	if err != nil {
		return nothing{}, err
	}
	defer m.unlockAndSignal()
	if s := m.mu.sandboxes[req.SandboxID]; s != nil {
		m.stopSandboxLocked(s, now)
		m.removeSandboxLocked(s, now)
	}
	return nothing{}, nil
}

// stopSandboxLocked kills the containers of a sandbox, sets the sandbox to not ready and releases its IP
// address.
func (m *machine) stopSandboxLocked(s *sandbox, now time.Time) {
	for _, c := range s.pod.containers {
		if c.sandbox == s && c.isStartingOrRunning(now) {
			m.exitContainerLocked(c, now, exitCodeKilled)
		}
	}
	m.setSandboxNotReadyAndReleaseIPLocked(s, now)
}

// setSandboxNotReadyAndReleaseIPLocked sets a ready sandbox to not ready, releases its IP address and publishes
// the change. Its containers continue to run. It does nothing if the sandbox is not ready.
func (m *machine) setSandboxNotReadyAndReleaseIPLocked(s *sandbox, now time.Time) {
	if !s.ready {
		return
	}
	s.ready = false
	if s.ip != 0 {
		delete(m.mu.usedIPs, s.ip)
		s.ip = 0
	}
	m.publishChangeLocked(s.pod, nil, now)
}

// exitContainerLocked makes a container exit now with an exit code, also during its start delay, and publishes
// the change.
func (m *machine) exitContainerLocked(c *container, now time.Time, code int32) {
	c.scheduleExitIfEarlier(now, code)
	m.scheduleChangeAndSignalLocked(c, now)
	m.publishChangeLocked(c.pod, c, now)
}

// removeSandboxLocked deletes a sandbox and its containers from the simulated machine and publishes the
// changes. It also deletes the pod if the sandbox was its last.
func (m *machine) removeSandboxLocked(s *sandbox, now time.Time) {
	p := s.pod
	for _, c := range slices.Clone(p.containers) {
		if c.sandbox == s {
			m.removeContainerLocked(c, now)
		}
	}
	m.setSandboxNotReadyAndReleaseIPLocked(s, now)
	p.sandboxes = slices.DeleteFunc(p.sandboxes, func(o *sandbox) bool { return o == s })
	delete(m.mu.sandboxes, s.id)
	m.publishChangeLocked(p, nil, now)
	m.removePodIfEmptyLocked(p)
}

// allocateIPLocked allocates a free IP address in 10.88.0.0/16, or returns an error if all are used. The search
// begins at an address that depends only on the UID and the attempt, so that the order in which pods start
// seldom changes their addresses.
func (m *machine) allocateIPLocked(uid types.UID, attempt uint32) (uint16, error) {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%d", uid, attempt)
	first := h.Sum32()
	for i := range uint32(1 << 16) {
		ip := uint16(first + i)
		host := ip & 0xff
		if host == 0 || host == 0xff || ip == 1 || m.mu.usedIPs[ip] { // networks, broadcasts, the gateway
			continue
		}
		m.mu.usedIPs[ip] = true
		return ip, nil
	}
	return 0, errors.New("memory: no free address in 10.88.0.0/16")
}
