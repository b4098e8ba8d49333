package main

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"

	"github.com/podkeel/podkeel/runtime"
)

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

func environment(vars []runtime.EnvVar) (all []string) {
	for _, v := range vars {
		all = append(all, v.Name+"="+v.Value)
	}
	return all
}

// exitCode is the code of a process, as a shell has it: 128 and the signal for one that was killed.
func exitCode(cmd *exec.Cmd) int32 {
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int32(status.Signal())
	}
	return int32(cmd.ProcessState.ExitCode())
}
