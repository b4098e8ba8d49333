//go:build linux

package e2e

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
)

// goodOrder is how long a program may take to end when it is asked to.
const goodOrder = 30 * time.Second

// process is a program that dies with ours. Its methods are called from one
// goroutine at a time; nil is one that has been ended.
type process struct {
	executor executor.Executor
	run      *exec.Cmd
	ended    executor.Latch
	err      error // how it ended, once it has
}

// startProcess starts a program and waits for its exit in the background. The kernel kills the program when
// this process exits.
func startProcess(run *exec.Cmd) (*process, error) {
	if run.SysProcAttr == nil {
		run.SysProcAttr = &syscall.SysProcAttr{}
	}
	run.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := run.Start(); err != nil {
		return nil, err
	}
	real := executor.Over(clock.RealClock{})
	p := &process{executor: real, run: run, ended: real.NewLatch()}
	real.Go(func() {
		p.err = run.Wait()
		p.ended.Open()
	})
	return p, nil
}

// isRunning reports whether the process was started and has not exited.
func (p *process) isRunning() bool { return p != nil && !p.ended.Opened() }

// terminateAndWait sends a signal to the process and waits for its exit. If the process has not exited after a
// limit, it sends SIGKILL. It does nothing if p is nil.
func (p *process) terminateAndWait(signal os.Signal) {
	if p == nil {
		return
	}
	_ = p.run.Process.Signal(signal) // It fails if the process has exited already, which is fine.
	ctx, cancel := p.executor.WithDeadline(context.Background(), p.executor.Now().Add(goodOrder))
	defer cancel()
	if p.ended.Wait(ctx) != nil {
		_ = p.run.Process.Kill()
		_ = p.ended.Wait(context.Background()) // No process survives SIGKILL.
	}
}
