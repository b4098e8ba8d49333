//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// startInNewGroup makes a process start its own process group.
func startInNewGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalProcessGroup sends a signal to all processes of a group.
func signalProcessGroup(cmd *exec.Cmd, s syscall.Signal) error {
	return syscall.Kill(-cmd.Process.Pid, s)
}
