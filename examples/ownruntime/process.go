package main

import (
	"os/exec"
	"syscall"

	"github.com/podkeel/podkeel/runtime"
)

// environment is the variables as a process has them.
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
