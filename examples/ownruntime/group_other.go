//go:build !unix

package main

import (
	"os/exec"
	"syscall"
)

// setNewProcessGroup does nothing: this system has no process groups.
func setNewProcessGroup(*exec.Cmd) {}

// signalProcessGroup kills the process with SIGKILL, whatever the signal is. Processes that it has started keep
// running.
func signalProcessGroup(cmd *exec.Cmd, _ syscall.Signal) error { return cmd.Process.Kill() }
