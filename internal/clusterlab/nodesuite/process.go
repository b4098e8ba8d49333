package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// process is a program that runs. The kernel kills it when this process exits.
type process struct {
	cmd    *exec.Cmd
	exited chan error // has the result of the program, once
}

// startProcess starts a program in a directory and appends its output to a log file. env is added to the environment.
func startProcess(dir, log string, env []string, program string, args ...string) (*process, error) {
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return nil, err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &process{cmd: exec.Command(program, args...), exited: make(chan error, 1)}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = dir, out, out, append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return p, startOnOwnThread(p.cmd, p.exited)
}

// startOnOwnThread starts a command, and sends its result when it has exited. The kernel sends Pdeathsig when the thread
// that has started the command exits, so that thread waits for the command.
func startOnOwnThread(cmd *exec.Cmd, exited chan<- error) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			exited <- cmd.Wait()
		}
	}()
	return <-started
}

// signalAndWait sends a signal to the program and waits until it has exited.
func (p *process) signalAndWait(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s) // An error means that the program has exited.
	err := <-p.exited
	p.exited <- err // For the next call.
}

// isRunning reports whether the program has not exited.
func (p *process) isRunning() bool {
	select {
	case err := <-p.exited:
		p.exited <- err
		return false
	default:
		return true
	}
}
