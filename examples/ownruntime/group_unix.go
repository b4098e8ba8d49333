//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// asGroup has a process begin a group of its own, with all that it starts.
func asGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to all processes of a group.
func signalGroup(cmd *exec.Cmd, s syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, s) }
