package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// checkFlag is the argument that runs vet and the tests. Other arguments go to the comparison.
const checkFlag = "-check"

// kubeletFiles are the source files that the overlay adds to directory kubelet.
var kubeletFiles = []string{"pod_workers.go", "errors.go"}

// buildTag is the tag of the directories that need the overlay.
const buildTag = "peer"

func main() {
	if err := buildAndRun(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

// buildAndRun builds the comparison and runs it with these arguments. With checkFlag it runs vet and the tests instead.
func buildAndRun(args []string) error {
	scratch, err := os.MkdirTemp("", "peer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	overlay := filepath.Join(scratch, "overlay.json")
	if err := writeOverlay(overlay); err != nil {
		return err
	}
	flags := []string{"-tags", buildTag, "-overlay", overlay}
	if slices.Contains(args, checkFlag) {
		if err := runGo(slices.Concat([]string{"vet"}, flags, []string{".", "./compare"})...); err != nil {
			return err
		}
		return runGo(slices.Concat([]string{"test", "-count", "1"}, flags, []string{"./..."})...)
	}
	program := filepath.Join(scratch, "compare")
	if err := runGo(slices.Concat([]string{"build"}, flags, []string{"-o", program, "./compare"})...); err != nil {
		return err
	}
	return runCommand(exec.Command(program, args...))
}

// writeOverlay writes the file that adds the kubelet's pod workers to directory kubelet.
func writeOverlay(path string) error {
	if err := runGo("mod", "download", "k8s.io/kubernetes"); err != nil {
		return err
	}
	source, err := moduleDir("k8s.io/kubernetes")
	if err != nil {
		return err
	}
	own, err := moduleDir("github.com/podkeel/podkeel/internal/clusterlab/peer")
	if err != nil {
		return err
	}
	files := map[string]string{}
	for _, name := range kubeletFiles {
		files[filepath.Join(own, "kubelet", name)] = filepath.Join(source, "pkg", "kubelet", name)
	}
	text, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// moduleDir returns the directory of a module of this build.
func moduleDir(module string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("cannot find module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// runGo runs the go command without cgo, so that no C compiler is needed.
func runGo(args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return runCommand(cmd)
}

// runCommand runs a command with the output of this program.
func runCommand(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
