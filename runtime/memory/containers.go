package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

// CreateContainer implements runtime.Containers.
func (r *Runtime) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	return instrumentCall(ctx, r, "CreateContainer", req, (*Runtime).createContainer)
}

// StartContainer implements runtime.Containers. If ctx ends during a start delay, StartContainer
// returns, and the container still starts after the delay.
func (r *Runtime) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	_, err := instrumentCall(ctx, r, "StartContainer", req, (*Runtime).startContainer)
	return err
}

// StopContainer implements runtime.Containers. If ctx ends during the grace period, StopContainer returns, and a
// container that ignores TERM runs on, as with containerd. Other calls of StopContainer that wait still kill it.
func (r *Runtime) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	_, err := instrumentCall(ctx, r, "StopContainer", req, (*Runtime).stopContainer)
	return err
}

// RemoveContainer implements runtime.Containers.
func (r *Runtime) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error {
	_, err := instrumentCall(ctx, r, "RemoveContainer", req, (*Runtime).removeContainer)
	return err
}

// createContainer creates a container in state created and returns its ID. It returns an error for a faulty
// script, a scripted failure, an unusable sandbox, image or mount, or a PID target, or if the runtime is not
// ready. A scripted failure counts as a start.
func (r *Runtime) createContainer(_ context.Context, req runtime.CreateContainerRequest) (string, error) {
	m := r.m
	now, err := m.lockIfReady()
	if err != nil {
		return "", err
	}
	defer m.unlockAndSignal()
	s, err := m.sandboxForCreateLocked(req)
	if err != nil {
		return "", err
	}
	if req.PIDTarget != "" {
		return "", fmt.Errorf("memory: %w: a container has no process namespace", runtime.ErrUnsupported)
	}
	run, err := m.nextScriptedRunLocked(req.Pod, req.Name, req.Annotations, s.annotations)
	if err != nil {
		return "", err
	}
	answers, err := parseAnswerAnnotationsFirstMapWins(req.Name, req.Annotations, s.annotations)
	if err != nil {
		return "", err
	}
	if err := m.applyScriptedFailureOrCheckImagesLocked(req, run); err != nil {
		return "", err
	}
	kept := m.internSpecLocked(&req)
	c := &container{
		id: m.nextDeterministicIDLocked(req.Pod.UID), name: req.Name, pod: s.pod, sandbox: s,
		ref: reusePodRefIfEqual(req.Pod, s.ref), attempt: req.Attempt, spec: kept, resources: &kept.resources, run: &Run{}, answers: answers, created: now,
	}
	s.pod.insertContainer(c)
	m.mu.containers[c.id] = c
	m.publishChangeLocked(c.pod, c, now)
	return c.id, nil
}

// sandboxForCreateLocked returns the sandbox for a new container. It returns an error if the sandbox is
// unknown, not ready or of another pod. It also returns an error if the request has no container name, or if
// the sandbox already has a container with that name and attempt.
func (m *machine) sandboxForCreateLocked(req runtime.CreateContainerRequest) (*sandbox, error) {
	s := m.mu.sandboxes[req.SandboxID]
	switch {
	case s == nil:
		return nil, fmt.Errorf("memory: sandbox %s: %w", req.SandboxID, runtime.ErrNotFound)
	case s.pod.ref.UID != req.Pod.UID:
		return nil, fmt.Errorf("memory: sandbox %s of pod %s: %w", req.SandboxID, req.Pod.UID, runtime.ErrNotFound)
	case req.Name == "":
		return nil, errors.New("memory: a container needs a name")
	}
	for _, c := range s.pod.containers {
		if c.sandbox == s && c.name == req.Name && c.attempt == req.Attempt {
			return nil, fmt.Errorf("memory: container %s %d in sandbox %s: %w", req.Name, req.Attempt, s.id, runtime.ErrExists)
		}
	}
	if !s.ready {
		return nil, fmt.Errorf("memory: sandbox %s is not ready: %w", s.id, runtime.ErrWrongState)
	}
	return s, nil
}

// applyScriptedFailureOrCheckImagesLocked applies the container's script to the creation of a container. If the
// script says fail=create or fail=image, it counts a start of the container and returns an error. For another
// script it returns an error if the image of the container or of a mount is absent, or if an image mount is
// invalid.
func (m *machine) applyScriptedFailureOrCheckImagesLocked(req runtime.CreateContainerRequest, run Run) error {
	switch run.Fail {
	case FailCreate:
		m.countStartLocked(req.Pod.UID, req.Name)
		return fmt.Errorf("memory: container %s: the script says fail=create", req.Name)
	case FailImage: // The image was requested without the name of this container, so it looked present.
		m.countStartLocked(req.Pod.UID, req.Name)
		return fmt.Errorf("memory: image %s: %w: the script says fail=image", req.Image, runtime.ErrNotFound)
	}
	name := req.ImageRef
	if name == "" {
		name = req.Image
	}
	if _, ok := m.findImageLocked(name); !ok {
		return fmt.Errorf("memory: image %q: %w: pull it first", name, runtime.ErrNotFound)
	}
	for i := range req.Mounts {
		if err := m.checkImageMountLocked(&req.Mounts[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkImageMountLocked returns an error if the image of a mount is absent, or if an image mount has a host
// path or is writable. It returns nil for a mount without an image.
func (m *machine) checkImageMountLocked(mount *runtime.Mount) error {
	if mount.Image == "" {
		return nil
	}
	switch _, ok := m.findImageLocked(mount.Image); {
	case !ok:
		return fmt.Errorf("memory: image %q of the mount at %s: %w: pull it first", mount.Image, mount.ContainerPath, runtime.ErrNotFound)
	case mount.HostPath != "" || !mount.ReadOnly:
		return fmt.Errorf("memory: the image at %s is mounted read-only and without a path of the host", mount.ContainerPath)
	}
	return nil
}

// startContainer starts a created container and waits until its start delay is over. It does nothing for a
// container that was started before. It returns an error if the container cannot start, or is stopped or
// removed during the delay.
func (r *Runtime) startContainer(ctx context.Context, req runtime.StartContainerRequest) (nothing, error) {
	m := r.m
	now, err := m.lockIfReady()
	if err != nil {
		return nothing{}, err
	}
	c, err := m.startContainerLocked(req.ContainerID, now)
	starting := err == nil && c.state(now) == runtime.StateCreated
	m.unlockAndSignal()
	if err != nil || !starting {
		return nothing{}, err
	}
	if err := r.waitWhileState(ctx, c, runtime.StateCreated); err != nil {
		return nothing{}, err
	}
	return nothing{}, m.checkNotStoppedDuringStart(c)
}

// startContainerLocked starts a created container, counts the start and publishes the change. A container that
// was started before is returned unchanged. It returns an error for an unknown or exited container, for a
// sandbox that is not ready, for a faulty script and for a script that says fail=start.
func (m *machine) startContainerLocked(id string, now time.Time) (*container, error) {
	c := m.mu.containers[id]
	if c == nil {
		return nil, fmt.Errorf("memory: container %s: %w", id, runtime.ErrNotFound)
	}
	switch {
	case c.state(now) == runtime.StateExited:
		return nil, fmt.Errorf("memory: container %s has exited: %w", id, runtime.ErrWrongState)
	case !c.startAt.IsZero():
		return c, nil
	case !c.sandbox.ready:
		return nil, fmt.Errorf("memory: sandbox %s is not ready: %w", c.sandbox.id, runtime.ErrWrongState)
	}
	run, err := m.nextRunLocked(c)
	if err != nil {
		return nil, err
	}
	m.countStartLocked(c.ref.UID, c.name)
	c.storeRunAndScheduleExit(now, run)
	if run.Fail == FailStart {
		m.publishChangeLocked(c.pod, c, now)
		return nil, fmt.Errorf("memory: container %s: the script says fail=start", c.name)
	}
	m.scheduleChangeAndSignalLocked(c, now)
	if c.state(now) != runtime.StateCreated {
		m.publishChangeLocked(c.pod, c, now)
	}
	return c, nil
}

// nextRunLocked returns the Run (duration, output, exit) for the next start of a container, from its script or,
// without a script, from its command. It returns an error if the script is faulty. An equal Run that was
// returned recently is reused to save memory.
func (m *machine) nextRunLocked(c *container) (*Run, error) {
	script, ok, err := m.findScriptLocked(*c.ref, c.name, c.spec.annotations, c.sandbox.annotations)
	if err != nil {
		return nil, err
	}
	run := script.runForStart(m.startCountLocked(c.ref.UID, c.name))
	if !ok {
		run = runForCommand(slices.Concat(c.spec.command, c.spec.args))
	}
	if known := m.mu.recentRuns.findEqual(&run); known != nil {
		return known, nil
	}
	return m.mu.recentRuns.storeInPlaceOfOldest(&run), nil
}

// checkNotStoppedDuringStart returns an error if the container was removed, or exited before its start delay
// was over.
func (m *machine) checkNotStoppedDuringStart(c *container) error {
	m.lockAndPublish()
	defer m.unlockAndSignal()
	switch {
	case c.removed:
		return fmt.Errorf("memory: container %s was removed while it started: %w", c.id, runtime.ErrNotFound)
	case c.exit != nil && c.exit.at.Before(c.startAt):
		return fmt.Errorf("memory: container %s was stopped while it started: %w", c.id, runtime.ErrWrongState)
	}
	return nil
}

// stopContainer simulates the TERM signal for a running container and waits until the container has exited. A
// container that ignores TERM is killed after the grace period. A container in its start delay, and any container
// without a grace period, is killed at once. A container that has exited or was not started does not change. It
// returns the error of ctx if ctx ends first, and ErrNotFound for an unknown container.
func (r *Runtime) stopContainer(ctx context.Context, req runtime.StopContainerRequest) (nothing, error) {
	m := r.m
	now, err := m.lockIfReady()
	if err != nil {
		return nothing{}, err
	}
	c := m.mu.containers[req.ContainerID]
	if c == nil {
		m.unlockAndSignal()
		return nothing{}, fmt.Errorf("memory: container %s: %w", req.ContainerID, runtime.ErrNotFound)
	}
	if c.isStartingOrRunning(now) {
		c.exitOnTerm(now, req.Grace)
		m.scheduleChangeAndSignalLocked(c, now)
		if !c.isStartingOrRunning(now) {
			m.publishChangeLocked(c.pod, c, now)
		}
	}
	waits, killAt := c.isStartingOrRunning(now), now.Add(req.Grace)
	if waits {
		c.ensureExtras().stops = append(c.ensureExtras().stops, killAt)
	}
	m.unlockAndSignal()
	if !waits {
		return nothing{}, nil
	}
	err = r.waitWhileState(ctx, c, runtime.StateRunning)
	m.endStop(c, killAt, err != nil)
	return nothing{}, err
}

// endStop forgets the kill of a call of StopContainer that waits no longer. If the caller is gone, it also cancels this
// kill of a container that still runs.
func (m *machine) endStop(c *container, killAt time.Time, isCallerGone bool) {
	now := m.lockAndPublish()
	defer m.unlockAndSignal()
	used := c.ensureExtras()
	if i := slices.IndexFunc(used.stops, killAt.Equal); i >= 0 {
		used.stops = slices.Delete(used.stops, i, i+1)
	}
	if isCallerGone && !c.removed && c.state(now) == runtime.StateRunning {
		c.rescheduleExit(now)
		m.scheduleChangeAndSignalLocked(c, now)
	}
	c.freeUnusedExtras()
}

// removeContainer removes a container that is created or exited. It returns nil if the container is unknown. It
// returns ErrWrongState if the container runs, is starting, or has run although the request says NeverRan.
func (r *Runtime) removeContainer(_ context.Context, req runtime.RemoveContainerRequest) (nothing, error) {
	m := r.m
	now, err := m.lockIfReady()
	if err != nil {
		return nothing{}, err
	}
	defer m.unlockAndSignal()
	c := m.mu.containers[req.ContainerID]
	switch {
	case c == nil:
		return nothing{}, nil
	case c.isStartingOrRunning(now):
		return nothing{}, fmt.Errorf("memory: container %s runs or is about to: %w", c.id, runtime.ErrWrongState)
	case req.NeverRan && c.state(now) != runtime.StateCreated:
		return nothing{}, fmt.Errorf("memory: container %s has run: %w", c.id, runtime.ErrWrongState)
	}
	m.removeContainerLocked(c, now)
	return nothing{}, nil
}

// removeContainerLocked deletes a container from the simulated machine, closes its file tree, wakes its waiters
// and publishes the change.
func (m *machine) removeContainerLocked(c *container, now time.Time) {
	c.removed = true
	if files := c.ensureExtras().files; files != nil {
		files.Close()
	}
	m.scheduleChangeAndSignalLocked(c, now)
	delete(m.mu.containers, c.id)
	c.pod.containers = slices.DeleteFunc(c.pod.containers, func(o *container) bool { return o == c })
	m.publishChangeLocked(c.pod, c, now)
}
