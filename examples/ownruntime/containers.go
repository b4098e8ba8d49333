package main

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

// process is a container.
type process struct {
	runtime.ContainerStatus
	cmd  *exec.Cmd
	done chan struct{} // closed when all its processes have exited
}

// CreateContainer implements runtime.Containers.
func (p *processes) CreateContainer(_ context.Context, req runtime.CreateContainerRequest) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.mu.sandboxes[req.SandboxID]
	switch {
	case s == nil:
		return "", fmt.Errorf("sandbox %s: %w", req.SandboxID, runtime.ErrNotFound)
	case !s.Ready:
		return "", fmt.Errorf("sandbox %s has been stopped: %w", req.SandboxID, runtime.ErrWrongState)
	case len(req.Mounts)+len(req.Devices) > 0 || req.PIDTarget != "" || req.StopSignal != "" || len(req.Command)+len(req.Args) == 0:
		return "", fmt.Errorf("a process needs a command, and has no mounts, devices, target or stop signal: %w", runtime.ErrUnsupported)
	}
	for _, c := range p.containersInLocked(s.ID) {
		if c.Name == req.Name && c.Attempt == req.Attempt {
			return "", fmt.Errorf("container %s: %w", req.Name, runtime.ErrExists)
		}
	}
	words := append(req.Command[:len(req.Command):len(req.Command)], req.Args...)
	c := &process{cmd: exec.Command(words[0], words[1:]...), done: make(chan struct{})}
	c.cmd.Dir, c.cmd.Env = req.WorkingDir, append(c.cmd.Environ(), envStrings(req.Env)...)
	setNewProcessGroup(c.cmd)
	c.Container = runtime.Container{
		ID: p.newIDLocked("container"), Name: req.Name, SandboxID: s.ID, Attempt: req.Attempt,
		Incarnation: req.Pod.Incarnation, State: runtime.StateCreated,
	}
	c.Image, c.ImageRef, c.CreatedAt, c.Annotations = req.Image, req.ImageRef, time.Now(), req.Annotations
	p.mu.containers[c.ID] = c
	return c.ID, nil
}

// StartContainer implements runtime.Containers.
func (p *processes) StartContainer(_ context.Context, req runtime.StartContainerRequest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.mu.containers[req.ContainerID]
	switch {
	case c == nil:
		return fmt.Errorf("container %s: %w", req.ContainerID, runtime.ErrNotFound)
	case c.State == runtime.StateRunning:
		return nil
	case c.State != runtime.StateCreated || !p.mu.sandboxes[c.SandboxID].Ready:
		return fmt.Errorf("container %s: %w", req.ContainerID, runtime.ErrWrongState)
	}
	if err := c.cmd.Start(); err != nil {
		c.State, c.FinishedAt, c.ExitCode, c.Reason, c.Message = runtime.StateExited, time.Now(), 128, "StartError", err.Error()
		return err
	}
	c.State, c.StartedAt = runtime.StateRunning, time.Now()
	go p.waitForExitAndKillGroup(c)
	return nil
}

// waitForExitAndKillGroup waits until a process exits, kills the processes in its group, records the exit code,
// and closes c.done.
func (p *processes) waitForExitAndKillGroup(c *process) {
	_ = c.cmd.Wait() // The state has the exit code.
	_ = signalProcessGroup(c.cmd, syscall.SIGKILL)
	p.mu.Lock()
	defer p.mu.Unlock()
	c.State, c.FinishedAt, c.ExitCode, c.Reason = runtime.StateExited, time.Now(), exitCode(c.cmd), "Completed"
	if c.ExitCode != 0 {
		c.Reason = "Error"
	}
	close(c.done)
}

// StopContainer implements runtime.Containers. Each call kills the process after its own grace period, so that the
// shortest one counts. If ctx ends before the process has exited, it returns the error of ctx, and the caller calls again.
func (p *processes) StopContainer(ctx context.Context, req runtime.StopContainerRequest) error {
	p.mu.Lock()
	c := p.mu.containers[req.ContainerID]
	running := c != nil && c.State == runtime.StateRunning
	p.mu.Unlock()
	switch {
	case c == nil:
		return fmt.Errorf("container %s: %w", req.ContainerID, runtime.ErrNotFound)
	case !running:
		return nil
	}
	if req.Grace > 0 {
		_ = c.cmd.Process.Signal(syscall.SIGTERM) // An error means that it has exited, or that the system cannot send the signal.
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(req.Grace):
	}
	_ = signalProcessGroup(c.cmd, syscall.SIGKILL)
	select { // A process in a system call that cannot be interrupted exits later.
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RemoveContainer implements runtime.Containers.
func (p *processes) RemoveContainer(_ context.Context, req runtime.RemoveContainerRequest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.mu.containers[req.ContainerID]
	switch {
	case c == nil:
		return nil
	case c.State == runtime.StateRunning, req.NeverRan && c.State == runtime.StateExited:
		return fmt.Errorf("container %s is %s: %w", c.ID, c.State, runtime.ErrWrongState)
	}
	delete(p.mu.containers, c.ID)
	return nil
}
