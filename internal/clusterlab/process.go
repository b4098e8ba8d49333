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

// process is a program that is running. It dies with the test program.
type process struct {
	name  string
	log   string
	cmd   *exec.Cmd
	ended chan struct{}
}

// start runs a program with its output in a file.
func start(dir, program string, args ...string) (*process, error) {
	name := filepath.Base(program)
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{name: name, log: log.Name(), cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The signal comes when this thread ends. It goes on after the process, since it may
		// have started others before, as those of internal/e2e.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
		}
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Run runs another program in the directory of the cluster until kill is called. Its output
// is appended to the file log. The program dies with the test program.
func (c *Cluster) Run(program string, args ...string) (kill func(), log string, err error) {
	p, err := start(c.dir, program, args...)
	if err != nil {
		return nil, "", err
	}
	return p.kill, p.log, nil
}

// signal sends a signal to the whole process group.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// kill ends the process at once and waits for its end.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// died is why a process has ended that should run; nil if it runs.
func (p *process) died() error {
	select {
	case <-p.ended:
		text, _ := os.ReadFile(p.log)
		return fmt.Errorf("%s has ended: %s: %s", p.name, p.cmd.ProcessState, tail(text))
	default:
		return nil
	}
}

// janitor removes a directory when the test program closes its standard input, and so
// also when the test program is killed.
type janitor struct {
	cmd *exec.Cmd
	in  interface{ Close() error }
}

const sweep = `trap '' INT TERM HUP; cat >/dev/null; for i in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$0" && [ ! -e "$0" ] && exit 0; sleep 0.2; done; exit 1`

func newJanitor(dir string) (*janitor, error) {
	cmd := exec.Command("/bin/sh", "-c", sweep, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return &janitor{cmd, in}, nil
}

// sweep removes the directory now.
func (j *janitor) sweep() error { return errors.Join(j.in.Close(), j.cmd.Wait()) }
