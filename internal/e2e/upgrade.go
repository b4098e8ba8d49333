//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildAgentOf builds the example agent of a commit of this repository and returns its path. A
// repository without that commit, as one with a short history, skips the test and says so.
func BuildAgentOf(t T, dir, commit string) string {
	t.Helper()
	top, err := runGit(".", "rev-parse", "--show-toplevel")
	if err != nil {
		t.Skipf("e2e: the sources are in no git repository, so there is no commit %s to upgrade from: %v", commit, err)
	}
	top = strings.TrimSpace(top)
	if _, err := runGit(top, "cat-file", "-e", commit+"^{commit}"); err != nil {
		t.Skipf("e2e: the history of this repository lacks commit %s, from which the test upgrades", commit)
	}
	source, program := filepath.Join(dir, "source"), filepath.Join(dir, "agent")
	archive := filepath.Join(dir, "source.tar")
	if _, err := runGit(top, "archive", "--output", archive, commit); err != nil {
		t.Fatalf("e2e: %v", err)
	}
	if err := os.MkdirAll(source, 0o755); err != nil {
		t.Fatalf("e2e: %v", err)
	}
	for _, command := range [][]string{
		{"tar", "-x", "-C", source, "-f", archive},
		{"go", "build", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", program, "./examples/agent"},
	} {
		run := exec.Command(command[0], command[1:]...)
		run.Dir = source
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("e2e: the agent of commit %s cannot be built: %s: %v\n%s", commit, command[0], err, out)
		}
	}
	return program
}

func runGit(dir string, args ...string) (string, error) {
	run := exec.Command("git", append([]string{"-c", "safe.directory=*"}, args...)...)
	run.Dir = dir
	out, err := run.Output()
	return string(out), err
}

// Upgrade ends the agent, if it runs, and starts another program in its place: with the same flags,
// on the same directories and the same containerd. It does not wait for anything.
func (a *Agent) Upgrade(program string) {
	a.t.Helper()
	a.Stop()
	a.program = program
	a.Start()
}
