package main

import (
	"os/exec"
	"syscall"

	"github.com/podkeel/podkeel/runtime"
)

// envStrings formats environment variables as NAME=VALUE.
func envStrings(vars []runtime.EnvVar) (all []string) {
	for _, v := range vars {
		all = append(all, v.Name+"="+v.Value)
	}
	return all
}

// exitCode returns the exit code of a process. As in a shell it is 128 plus the signal if a signal killed the process.
func exitCode(cmd *exec.Cmd) int32 {
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int32(status.Signal())
	}
	return int32(cmd.ProcessState.ExitCode())
}
