//go:build linux

// Cgroupvm runs a static test binary as the only program of a virtual machine with cgroup v2. The program has two roles.
// On the host it writes an initial RAM disk that contains itself as /init and the test binary:
//
//	CGO_ENABLED=0 go build -o cgroupvm ./internal/cgroupvm
//	CGO_ENABLED=0 go test -c -o cgroups.test ./runtime/cgroups
//	./cgroupvm cgroups.test '^TestHost' >initrd
//
// In the virtual machine it is process 1: it mounts /proc, /sys and cgroup v2, runs the tests, writes their output to the
// second serial port, and turns the machine off. The first serial port has the messages of the kernel. `.ci/run v2`
// starts qemu and checks the output.
package main

import (
	"fmt"
	"os"
)

func main() {
	if os.Getpid() == 1 {
		runAsInit()
	}
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: cgroupvm TEST_BINARY PATTERN >INITRD")
		os.Exit(2)
	}
	if err := writeInitrd(os.Stdout, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "cgroupvm:", err)
		os.Exit(1)
	}
}
