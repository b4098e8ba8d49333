//go:build !unix

package main

import (
	"os/exec"
	"syscall"
)

// asGroup does nothing: there are no groups here.
func asGroup(*exec.Cmd) {}

// signalGroup kills the process. What it has started goes on.
func signalGroup(cmd *exec.Cmd, _ syscall.Signal) error { return cmd.Process.Kill() }
