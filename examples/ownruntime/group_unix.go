//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// startInNewGroup configures a command, so that its process is in a new process group. It starts nothing.
func startInNewGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalProcessGroup sends a signal to all processes in the group of the process.
func signalProcessGroup(cmd *exec.Cmd, s syscall.Signal) error {
	return syscall.Kill(-cmd.Process.Pid, s)
}
