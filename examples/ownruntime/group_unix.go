//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// setNewProcessGroup configures a command, so that its process is in a new process group. It starts nothing.
func setNewProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalProcessGroup sends a signal to all processes in the group of the process.
func signalProcessGroup(cmd *exec.Cmd, s syscall.Signal) error {
	return syscall.Kill(-cmd.Process.Pid, s)
}
