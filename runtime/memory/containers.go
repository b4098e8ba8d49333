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
	return verb(ctx, r, "CreateContainer", req, (*Runtime).createContainer)
}

// StartContainer implements runtime.Containers. If the end of ctx ends a start
// delay, the container starts all the same when the delay is over.
func (r *Runtime) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	_, err := verb(ctx, r, "StartContainer", req, (*Runtime).startContainer)
	return err
}

// StopContainer implements runtime.Containers. If ctx ends during the grace,
// the kill follows all the same when the grace is over.
func (r *Runtime) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	_, err := verb(ctx, r, "StopContainer", req, (*Runtime).stopContainer)
	return err
}

// RemoveContainer implements runtime.Containers.
func (r *Runtime) RemoveContainer(ctx context.Context, req runtime.RemoveContainerRequest) error {
	_, err := verb(ctx, r, "RemoveContainer", req, (*Runtime).removeContainer)
	return err
}

func (r *Runtime) createContainer(_ context.Context, req runtime.CreateContainerRequest) (string, error) {
	m := r.m
	now, err := m.lockReady()
	if err != nil {
		return "", err
	}
	defer m.unlock()
	s, err := m.placeLocked(req)
	if err != nil {
		return "", err
	}
	if req.PIDTarget != "" {
		return "", fmt.Errorf("memory: %w: a container has no process namespace", runtime.ErrUnsupported)
	}
	run, err := m.upcomingLocked(req.Pod, req.Name, req.Annotations, s.annotations)
	if err != nil {
		return "", err
	}
	answers, err := parseReplies(req.Name, req.Annotations, s.annotations)
	if err != nil {
		return "", err
	}
	if err := m.failCreateLocked(req, run); err != nil {
		return "", err
	}
	kept := m.specLocked(&req)
	c := &container{
		id: m.newIDLocked(req.Pod.UID), name: req.Name, pod: s.pod, sandbox: s,
		ref: refOf(req.Pod, s.ref), attempt: req.Attempt, spec: kept, resources: &kept.resources, run: &Run{}, answers: answers, created: now,
	}
	s.pod.insertContainer(c)
	m.mu.containers[c.id] = c
	m.changedLocked(c.pod, c, now)
	return c.id, nil
}

// placeLocked finds the sandbox of a container to be made, and that there is
// room for it.
func (m *machine) placeLocked(req runtime.CreateContainerRequest) (*sandbox, error) {
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

// failCreateLocked is what the image and the script have against a container.
func (m *machine) failCreateLocked(req runtime.CreateContainerRequest, run Run) error {
	switch run.Fail {
	case FailCreate:
		m.useRunLocked(req.Pod.UID, req.Name)
		return fmt.Errorf("memory: container %s: the script says fail=create", req.Name)
	case FailImage: // The caller did not ask on behalf of this container.
		m.useRunLocked(req.Pod.UID, req.Name)
		return fmt.Errorf("memory: image %s: %w: the script says fail=image", req.Image, runtime.ErrNotFound)
	}
	name := req.ImageRef
	if name == "" {
		name = req.Image
	}
	if _, ok := m.imageLocked(name); !ok {
		return fmt.Errorf("memory: image %q: %w: pull it first", name, runtime.ErrNotFound)
	}
	for i := range req.Mounts {
		if err := m.checkMountLocked(&req.Mounts[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkMountLocked returns an error for a Mount with an Image that cannot be made. A container has no
// files of it.
func (m *machine) checkMountLocked(mount *runtime.Mount) error {
	if mount.Image == "" {
		return nil
	}
	switch _, ok := m.imageLocked(mount.Image); {
	case !ok:
		return fmt.Errorf("memory: image %q of the mount at %s: %w: pull it first", mount.Image, mount.ContainerPath, runtime.ErrNotFound)
	case mount.HostPath != "" || !mount.ReadOnly:
		return fmt.Errorf("memory: the image at %s is mounted read-only and without a path of the host", mount.ContainerPath)
	}
	return nil
}

func (r *Runtime) startContainer(ctx context.Context, req runtime.StartContainerRequest) (nothing, error) {
	m := r.m
	now, err := m.lockReady()
	if err != nil {
		return nothing{}, err
	}
	c, err := m.beginLocked(req.ContainerID, now)
	starting := err == nil && c.state(now) == runtime.StateCreated
	m.unlock()
	if err != nil || !starting {
		return nothing{}, err
	}
	if err := r.await(ctx, c, runtime.StateCreated); err != nil {
		return nothing{}, err
	}
	return nothing{}, m.started(c)
}

// beginLocked starts a container, unless it has been started.
func (m *machine) beginLocked(id string, now time.Time) (*container, error) {
	c := m.mu.containers[id]
	if c == nil {
		return nil, fmt.Errorf("memory: container %s: %w", id, runtime.ErrNotFound)
	}
	switch {
	case c.state(now) == runtime.StateExited:
		return nil, fmt.Errorf("memory: container %s has exited: %w", id, runtime.ErrWrongState)
	case !c.start.IsZero():
		return c, nil
	case !c.sandbox.ready:
		return nil, fmt.Errorf("memory: sandbox %s is not ready: %w", c.sandbox.id, runtime.ErrWrongState)
	}
	run, err := m.nextRunLocked(c)
	if err != nil {
		return nil, err
	}
	m.useRunLocked(c.ref.UID, c.name)
	c.begin(now, run)
	if run.Fail == FailStart {
		m.changedLocked(c.pod, c, now)
		return nil, fmt.Errorf("memory: container %s: the script says fail=start", c.name)
	}
	m.planLocked(c, now)
	if c.state(now) != runtime.StateCreated {
		m.changedLocked(c.pod, c, now)
	}
	return c, nil
}

// nextRunLocked is how the next start of c goes: by its script, or else by its
// command.
func (m *machine) nextRunLocked(c *container) (*Run, error) {
	script, ok, err := m.scriptLocked(*c.ref, c.name, c.spec.annotations, c.sandbox.annotations)
	if err != nil {
		return nil, err
	}
	run := script.run(m.startsLocked(c.ref.UID, c.name))
	if !ok {
		run = commandRun(slices.Concat(c.spec.command, c.spec.args))
	}
	if known := m.mu.runs.find(&run); known != nil {
		return known, nil
	}
	return m.mu.runs.keep(&run), nil
}

// started says how a start went that took time.
func (m *machine) started(c *container) error {
	m.lock()
	defer m.unlock()
	switch {
	case c.gone:
		return fmt.Errorf("memory: container %s was removed while it started: %w", c.id, runtime.ErrNotFound)
	case c.end != nil && c.end.at.Before(c.start):
		return fmt.Errorf("memory: container %s was stopped while it started: %w", c.id, runtime.ErrWrongState)
	}
	return nil
}

func (r *Runtime) stopContainer(ctx context.Context, req runtime.StopContainerRequest) (nothing, error) {
	m := r.m
	now, err := m.lockReady()
	if err != nil {
		return nothing{}, err
	}
	c := m.mu.containers[req.ContainerID]
	if c == nil {
		m.unlock()
		return nothing{}, fmt.Errorf("memory: container %s: %w", req.ContainerID, runtime.ErrNotFound)
	}
	if c.alive(now) {
		c.term(now, req.Grace)
		m.planLocked(c, now)
		if !c.alive(now) {
			m.changedLocked(c.pod, c, now)
		}
	}
	waits := c.alive(now)
	m.unlock()
	if !waits {
		return nothing{}, nil
	}
	return nothing{}, r.await(ctx, c, runtime.StateRunning)
}

func (r *Runtime) removeContainer(_ context.Context, req runtime.RemoveContainerRequest) (nothing, error) {
	m := r.m
	now, err := m.lockReady()
	if err != nil {
		return nothing{}, err
	}
	defer m.unlock()
	c := m.mu.containers[req.ContainerID]
	switch {
	case c == nil:
		return nothing{}, nil
	case c.alive(now):
		return nothing{}, fmt.Errorf("memory: container %s runs or is about to: %w", c.id, runtime.ErrWrongState)
	case req.NeverRan && c.state(now) != runtime.StateCreated:
		return nothing{}, fmt.Errorf("memory: container %s has run: %w", c.id, runtime.ErrWrongState)
	}
	m.dropLocked(c, now)
	return nothing{}, nil
}

// dropLocked drops a container's record, and with it whatever ran in it.
func (m *machine) dropLocked(c *container, now time.Time) {
	c.gone = true
	if files := c.uses().files; files != nil {
		files.Close()
	}
	m.planLocked(c, now)
	delete(m.mu.containers, c.id)
	c.pod.containers = slices.DeleteFunc(c.pod.containers, func(o *container) bool { return o == c })
	m.changedLocked(c.pod, c, now)
}
