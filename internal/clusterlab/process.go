package clusterlab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// process is a running program. It dies with the test program.
type process struct {
	name   string
	log    string
	cmd    *exec.Cmd
	exited chan struct{}
}

// startProcess starts a program in dir, and appends its output to a log file there. The kernel kills the
// program when this process exits.
func startProcess(dir, program string, args ...string) (*process, error) {
	name := filepath.Base(program)
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{name: name, log: log.Name(), cmd: exec.Command(program, args...), exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The kernel sends Pdeathsig when this thread exits. The thread is reused after the process, because it may
		// have started other processes, such as processes of internal/e2e.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
		}
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Run runs another program in the directory of the cluster until kill is called. Its output is appended to the file
// log. The program dies with the test program.
func (c *Cluster) Run(program string, args ...string) (kill func(), log string, err error) {
	p, err := startProcess(c.dir, program, args...)
	if err != nil {
		return nil, "", err
	}
	return p.killGroup, p.log, nil
}

// signalGroup sends a signal to all processes in the group of the process.
func (p *process) signalGroup(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// killGroup sends SIGKILL to all processes in the group of the process, and waits for the exit of the process.
func (p *process) killGroup() {
	p.signalGroup(syscall.SIGKILL)
	<-p.exited
}

// exitError returns nil while the process runs. When it has exited, it returns an error with the end of its
// log.
func (p *process) exitError() error {
	select {
	case <-p.exited:
		text, _ := os.ReadFile(p.log)
		return fmt.Errorf("%s has exited: %s: %s", p.name, p.cmd.ProcessState, lastBytes(text))
	default:
		return nil
	}
}

// dirRemover removes a directory when the test program closes its standard input, or is killed.
type dirRemover struct {
	cmd   *exec.Cmd
	stdin interface{ Close() error }
}

const removeDirScript = `trap '' INT TERM HUP; cat >/dev/null; for i in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$0" && [ ! -e "$0" ] && exit 0; sleep 0.2; done; exit 1`

// newDirRemover starts a process that removes the directory when its standard input is closed, so also when
// this process is killed.
func newDirRemover(dir string) (*dirRemover, error) {
	cmd := exec.Command("/bin/sh", "-c", removeDirScript, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return &dirRemover{cmd, in}, nil
}

// removeDir makes the process of the dirRemover remove the directory, and waits for its exit.
func (j *dirRemover) removeDir() error { return errors.Join(j.stdin.Close(), j.cmd.Wait()) }
