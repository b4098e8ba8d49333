package memory

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// What follows happens behind the back of every client, at once, and counts as
// no call: neither hooks nor crashes see it.

// ExitContainer makes a running container end with a code, as a crash or a kill from
// outside would. ErrNotFound, or ErrWrongState if it does not run.
func (r *Runtime) ExitContainer(id string, code int32) error {
	now := r.m.lock()
	defer r.m.unlock()
	c, err := r.m.runningContainerLocked(id, now)
	if err == nil {
		r.m.exitContainerLocked(c, now, code)
	}
	return err
}

// SetReason changes the reason for which a container has ended, as a runtime does
// that hears of it late. No stream tells of that. ErrNotFound, or ErrWrongState if
// the container has not ended.
func (r *Runtime) SetReason(id, reason string) error {
	now := r.m.lock()
	defer r.m.unlock()
	c := r.m.mu.containers[id]
	switch {
	case c == nil:
		return fmt.Errorf("memory: container %s: %w", id, runtime.ErrNotFound)
	case c.state(now) != runtime.StateExited:
		return fmt.Errorf("memory: container %s has not ended: %w", id, runtime.ErrWrongState)
	}
	c.exit.reason, c.pod.cachedStatus = reason, nil
	return nil
}

// LoseContainer drops a container's record with whatever runs in it.
func (r *Runtime) LoseContainer(id string) error {
	now := r.m.lock()
	defer r.m.unlock()
	c := r.m.mu.containers[id]
	if c == nil {
		return fmt.Errorf("memory: container %s: %w", id, runtime.ErrNotFound)
	}
	r.m.removeContainerLocked(c, now)
	return nil
}

// KillSandbox makes a sandbox not ready and takes its address, while its
// containers live on.
func (r *Runtime) KillSandbox(id string) error {
	return r.changeSandbox(id, r.m.markSandboxNotReadyLocked)
}

// LoseSandbox drops a sandbox with all that is in it.
func (r *Runtime) LoseSandbox(id string) error { return r.changeSandbox(id, r.m.removeSandboxLocked) }

func (r *Runtime) changeSandbox(id string, changeLocked func(*sandbox, time.Time)) error {
	now := r.m.lock()
	defer r.m.unlock()
	s := r.m.mu.sandboxes[id]
	if s == nil {
		return fmt.Errorf("memory: sandbox %s: %w", id, runtime.ErrNotFound)
	}
	changeLocked(s, now)
	return nil
}

// LoseAll drops every pod, as a runtime does that comes back on an empty disk.
// Images stay, and starts stay counted.
func (r *Runtime) LoseAll() {
	now := r.m.lock()
	defer r.m.unlock()
	for _, p := range slices.Clone(r.m.mu.sortedPods) {
		for _, s := range slices.Clone(p.sandboxes) {
			r.m.removeSandboxLocked(s, now)
		}
	}
}

// SetStatus sets what RuntimeStatus says. While the runtime is not ready every
// other verb is ErrNotReady; while the network is not, RunSandbox is
// ErrNetworkNotReady unless the pod uses the host's. What runs goes on.
func (r *Runtime) SetStatus(status runtime.RuntimeStatus) {
	r.m.lock()
	defer r.m.unlock()
	r.m.mu.status = status
}

// FailPulls makes every pull of an image fail with ErrImage and a reason, which
// may be runtime.ErrRegistryUnavailable or runtime.ErrSignature, and drops the image
// if it is present. A nil reason ends it.
func (r *Runtime) FailPulls(image string, reason error) {
	r.m.lock()
	defer r.m.unlock()
	if reason == nil {
		delete(r.m.mu.pullErrors, withDefaultTag(image))
		return
	}
	r.m.mu.pullErrors[withDefaultTag(image)] = reason
	delete(r.m.mu.images, withDefaultTag(image))
}

// BreakEvents ends every open event stream with an error.
func (r *Runtime) BreakEvents(err error) {
	r.m.lock()
	defer r.m.unlock()
	if err == nil {
		err = errors.New("memory: the event stream broke")
	}
	for _, s := range r.m.mu.eventStreams {
		s.broken = err
		r.m.mu.toSignal = append(r.m.mu.toSignal, s.changed)
	}
}

// Snapshot returns what there is, ready or not, in order of UID: the observed state with
// which a test compares what a client has cached.
func (r *Runtime) Snapshot() []runtime.Pod {
	m := r.m
	now := m.lock()
	defer m.unlock()
	pods := make([]runtime.Pod, len(m.mu.sortedPods))
	for i, p := range m.mu.sortedPods {
		pods[i] = p.listEntry(now)
	}
	return pods
}

// SnapshotPod is Look for one pod; it has the UID and nothing else if there is none.
func (r *Runtime) SnapshotPod(uid types.UID) runtime.Pod {
	m := r.m
	now := m.lock()
	defer m.unlock()
	if p := m.mu.pods[uid]; p != nil {
		return p.listEntry(now)
	}
	return runtime.Pod{UID: uid}
}

// SnapshotStatus is LookAt in full. What it returns is shared, and only read.
func (r *Runtime) SnapshotStatus(uid types.UID) *runtime.PodStatus {
	m := r.m
	now := m.lock()
	defer m.unlock()
	if p := m.mu.pods[uid]; p != nil {
		return p.podStatus(now)
	}
	return &runtime.PodStatus{UID: uid}
}
