package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolatedRun is what a run on one node needs. The program passes it to itself in a file.
type isolatedRun struct {
	// Dir has all files of the run.
	Dir string
	// Node is the node that runs.
	Node     string
	Options  options
	Programs programs

	front *front // of examples/cluster
}

// The commands with which the program starts itself: commandInit is process 1 of the namespaces, commandRun the run.
const (
	commandInit = "init-of-namespaces"
	commandRun  = "run-in-namespaces"
)

// startIsolated runs the file's run in namespaces of its own and waits until its first process has exited, and
// with it all others. They exit too if this process is killed.
func startIsolated(file string) error {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupted)
	cmd := exec.Command("/proc/self/exe", commandInit, file)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Setpgid:    true, Pdeathsig: syscall.SIGKILL,
	}
	exited := make(chan error, 1)
	if err := startOnOwnThread(cmd, exited); err != nil {
		return err
	}
	select {
	case err := <-exited:
		return err
	case <-interrupted:
		_ = cmd.Process.Kill() // The kernel kills all processes of the namespace.
		return errors.Join(errors.New("interrupted"), <-exited)
	}
}

// runIsolatedCommand runs a command of the program in the namespaces and returns the exit code.
func runIsolatedCommand(command, file string) int {
	err := error(nil)
	if command == commandInit {
		err = runInit(file)
	} else {
		err = runInNamespaces(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nodesuite:", err)
		return 1
	}
	return 0
}

// runInit is process 1 of a namespace. It starts the run, and waits for it and for all orphans.
func runInit(file string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	child, err := os.StartProcess("/proc/self/exe", []string{"nodesuite", commandRun, file}, &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case pid == child.Pid && status.ExitStatus() != 0:
			return fmt.Errorf("the run has failed: exit code %d", status.ExitStatus())
		case pid == child.Pid:
			return nil
		}
	}
}

// privateDirs are the directories of the machine that a run replaces by empty ones.
var privateDirs = []string{"/var/lib/kubelet", "/var/log/pods", "/var/log/containers", "/run/containerd", "/var/lib/cni", "/etc/cni/net.d", "/run/netns"}

// The host name, and the addresses of the node and of a gateway that does not exist.
const (
	nodeName    = "nodesuite"
	nodeIP      = "192.168.77.2"
	gatewayIP   = "192.168.77.1"
	podSubnet   = "10.100.0.0/24"
	hostsOfNode = "127.0.0.1 localhost\n" + nodeIP + " " + nodeName + "\n"
)

// setUpNamespaces gives the mount namespace of this process empty directories, and its network namespace an address.
func (r *isolatedRun) setUpNamespaces() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""); err != nil {
		return err // A kubelet needs shared mounts.
	}
	for _, dir := range privateDirs {
		from := filepath.Join(r.Dir, "private", strings.ReplaceAll(dir[1:], "/", "-"))
		if err := errors.Join(os.MkdirAll(from, 0o755), os.MkdirAll(dir, 0o755)); err != nil {
			return err
		}
		if err := syscall.Mount(from, dir, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	hosts := filepath.Join(r.Dir, "hosts")
	if err := os.WriteFile(hosts, []byte(hostsOfNode), 0o644); err != nil {
		return err
	}
	if err := syscall.Mount(hosts, "/etc/hosts", "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(nodeName)); err != nil {
		return err
	}
	for _, line := range []string{
		"link set lo up", "link add eth0 type veth peer name gw0", "link set gw0 up",
		"address add " + nodeIP + "/24 dev eth0", "link set eth0 up", "route add default via " + gatewayIP + " dev eth0",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}

// runInNamespaces isolates the process and runs the suite.
func runInNamespaces(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var r isolatedRun
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	if err := r.setUpNamespaces(); err != nil {
		return fmt.Errorf("the run cannot be isolated: %w", err)
	}
	return r.runSuite()
}
