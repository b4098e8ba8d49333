package cgroups_test

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// helperVariable makes the test binary a process in a cgroup instead of running tests. A test binary needs no other
// program in this way, so that it can be the only one in a virtual machine.
const helperVariable = "CGROUPS_TEST_HELPER"

func TestMain(m *testing.M) {
	if task := os.Getenv(helperVariable); task != "" {
		runHelper(task)
		return
	}
	goleak.VerifyTestMain(m)
}

// runHelper waits for a line on the standard input, then does its task, and then waits for the end of the input.
func runHelper(task string) {
	input := bufio.NewReader(os.Stdin)
	_, _ = input.ReadString('\n')
	switch task {
	case "allocate": // 96 MiB
		block := make([]byte, 96<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
	case "compute":
		for i := 0; i < 1<<28; i++ {
			_ = i * i
		}
	case "fork": // at most 40 processes
		for range 40 {
			child := exec.Command(os.Args[0])
			child.Env = []string{helperVariable + "=wait"}
			child.Stdin = os.Stdin
			if child.Start() != nil {
				break
			}
		}
	}
	_, _ = os.Stdout.WriteString("done\n")
	_, _ = input.ReadString('\n')
}
