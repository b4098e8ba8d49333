package memory

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// The methods of this file change the machine without a client: they take effect at once, no hook sees
// them, and a simulated crash cannot interrupt them.

// ExitContainer makes a running container exit with a code, as after a crash or a kill from
// outside. It returns ErrNotFound, or ErrWrongState if the container does not run.
func (r *Runtime) ExitContainer(id string, code int32) error {
	now := r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	c, err := r.m.runningContainerLocked(id, now)
	if err == nil {
		r.m.exitContainerLocked(c, now, code)
	}
	return err
}

// SetReason changes the reason of an exited container, as a runtime that learns of an OOM kill
// late. It sends no event. It returns ErrNotFound, or ErrWrongState if the container has not
// exited.
func (r *Runtime) SetReason(id, reason string) error {
	now := r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	c := r.m.mu.containers[id]
	switch {
	case c == nil:
		return fmt.Errorf("memory: container %s: %w", id, runtime.ErrNotFound)
	case c.state(now) != runtime.StateExited:
		return fmt.Errorf("memory: container %s has not exited: %w", id, runtime.ErrWrongState)
	}
	c.exit.reason, c.pod.cachedStatus = reason, nil
	return nil
}

// LoseContainer removes a container's record, running or not.
func (r *Runtime) LoseContainer(id string) error {
	now := r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	c := r.m.mu.containers[id]
	if c == nil {
		return fmt.Errorf("memory: container %s: %w", id, runtime.ErrNotFound)
	}
	r.m.removeContainerLocked(c, now)
	return nil
}

// KillSandbox marks a sandbox not ready and releases its address. Its containers run on.
func (r *Runtime) KillSandbox(id string) error {
	return r.changeSandbox(id, r.m.setSandboxNotReadyAndReleaseIPLocked)
}

// LoseSandbox removes the records of a sandbox and of its containers.
func (r *Runtime) LoseSandbox(id string) error { return r.changeSandbox(id, r.m.removeSandboxLocked) }

// changeSandbox locks the simulated machine and calls changeLocked with a sandbox and the current time. It
// returns an error if the sandbox is unknown.
func (r *Runtime) changeSandbox(id string, changeLocked func(*sandbox, time.Time)) error {
	now := r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	s := r.m.mu.sandboxes[id]
	if s == nil {
		return fmt.Errorf("memory: sandbox %s: %w", id, runtime.ErrNotFound)
	}
	changeLocked(s, now)
	return nil
}

// LoseAll removes the records of all pods, as if the runtime restarted with an empty disk. Images
// stay, and the counts of starts stay.
func (r *Runtime) LoseAll() {
	now := r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	for _, p := range slices.Clone(r.m.mu.sortedPods) {
		for _, s := range slices.Clone(p.sandboxes) {
			r.m.removeSandboxLocked(s, now)
		}
	}
}

// SetStatus sets the result of RuntimeStatus. While the runtime is not ready, every other method
// returns ErrNotReady. While the network is not ready, RunSandbox returns ErrNetworkNotReady,
// except for a pod on the host network. Running containers run on.
func (r *Runtime) SetStatus(status runtime.RuntimeStatus) {
	r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	r.m.mu.status = status
}

// FailPulls makes every pull of an image fail with ErrImage and a reason, which may be
// runtime.ErrRegistryUnavailable or runtime.ErrSignature. It removes the image if it is present. A
// nil reason makes pulls succeed again.
func (r *Runtime) FailPulls(image string, reason error) {
	r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	if reason == nil {
		delete(r.m.mu.pullErrors, withDefaultTag(image))
		return
	}
	r.m.mu.pullErrors[withDefaultTag(image)] = reason
	delete(r.m.mu.images, withDefaultTag(image))
}

// BreakEvents makes every open event stream return an error.
func (r *Runtime) BreakEvents(err error) {
	r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	if err == nil {
		err = errors.New("memory: the event stream broke")
	}
	for _, s := range r.m.mu.eventStreams {
		s.broken = err
		r.m.mu.toSignal = append(r.m.mu.toSignal, s.changed)
	}
}

// Snapshot returns all pods, sorted by UID, also while the runtime is not ready. A test compares it
// with the state that a client has cached.
func (r *Runtime) Snapshot() []runtime.Pod {
	m := r.m
	now := m.lockAndPublish()
	defer m.unlockAndSignal()
	pods := make([]runtime.Pod, len(m.mu.sortedPods))
	for i, p := range m.mu.sortedPods {
		pods[i] = p.listEntry(now)
	}
	return pods
}

// SnapshotPod is Snapshot for one pod. An unknown pod has the UID and nothing else.
func (r *Runtime) SnapshotPod(uid types.UID) runtime.Pod {
	m := r.m
	now := m.lockAndPublish()
	defer m.unlockAndSignal()
	if p := m.mu.pods[uid]; p != nil {
		return p.listEntry(now)
	}
	return runtime.Pod{UID: uid}
}

// SnapshotStatus is PodStatus, also while the runtime is not ready. The caller must not modify the
// result.
func (r *Runtime) SnapshotStatus(uid types.UID) *runtime.PodStatus {
	m := r.m
	now := m.lockAndPublish()
	defer m.unlockAndSignal()
	if p := m.mu.pods[uid]; p != nil {
		return p.podStatus(now)
	}
	return &runtime.PodStatus{UID: uid}
}
