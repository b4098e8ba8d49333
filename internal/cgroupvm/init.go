//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Names of files in the initial RAM disk.
const (
	testBinaryName = "tests"
	patternName    = "pattern"
)

// runAsInit runs the tests, writes their output to the second serial port, and turns the machine off. It does
// not return. An error on the way is printed as "failed: …".
func runAsInit() {
	if err := runTests(); err != nil {
		fmt.Println("failed:", err) // The kernel prints it on the first serial port.
	}
	syscall.Sync()
	_ = syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
	select {} // The kernel panics if process 1 exits.
}

// runTests mounts what the tests read and runs them. After their output it prints "exited: " with the error of the
// test binary, or "exited: <nil>".
func runTests() error {
	mounts := []struct{ kind, dir string }{
		{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"}, {"cgroup2", "/sys/fs/cgroup"}, {"tmpfs", "/tmp"},
	}
	for _, mount := range mounts {
		if err := syscall.Mount(mount.kind, mount.dir, mount.kind, 0, ""); err != nil {
			return fmt.Errorf("cannot mount %s on %s: %w", mount.kind, mount.dir, err)
		}
	}
	output, err := os.OpenFile("/dev/ttyS1", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	pattern, err := os.ReadFile("/" + patternName)
	if err != nil {
		return err
	}
	// Emulated processors are slow: 40 random cases instead of 100.
	tests := exec.Command("/"+testBinaryName, "-test.v", "-test.run", string(pattern), "-test.timeout", "2m", "-rapid.nofailfile", "-rapid.checks=40")
	tests.Stdout, tests.Stderr, tests.Dir = output, output, "/tmp"
	_, err = fmt.Fprintln(output, "exited:", tests.Run())
	return err
}
