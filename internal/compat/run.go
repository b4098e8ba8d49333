//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/podkeel/podkeel/internal/osfile"
)

// runRow runs the commands of a row and decides its cells. It stops at the first command without tests that fails. It
// returns an error if it cannot copy the repository or read the versions, or if ctx ends.
func runRow(ctx context.Context, root string, s selectedRow) (result RowResult, err error) {
	dir := root
	if s.row.InCopy {
		copied, err := os.MkdirTemp("", "podkeel-compat-")
		if err != nil {
			return result, err
		}
		defer func() { err = errors.Join(err, removeCopy(context.WithoutCancel(ctx), copied)) }()
		if err := copyTree(root, copied); err != nil {
			return result, err
		}
		dir = copied
	}
	steps := s.row.namedSteps()
	results := make([]StepResult, len(steps))
	for i, step := range steps {
		var out string
		if results[i], out = runStep(ctx, dir, step); ctx.Err() != nil {
			return result, ctx.Err()
		}
		if s.row.Printed != "" && result.Versions == "" {
			result.Versions = regexp.MustCompile(s.row.Printed).FindString(out)
		}
		if len(step.Tests) == 0 && !results[i].Succeeded {
			for j := i + 1; j < len(results); j++ { // The later commands need this one.
				results[j] = StepResult{Ran: true, Fault: results[i].Fault}
			}
			break
		}
	}
	if s.row.Versions != "" {
		out, err := runBash(ctx, dir, s.row.Versions, io.Discard)
		if err != nil {
			return result, fmt.Errorf("%s: %w: %s", s.row.Versions, err, out)
		}
		result.Versions = strings.TrimSpace(string(out))
	}
	result.Cells = map[string]Cell{}
	for _, column := range s.table.Columns {
		result.Cells[column] = decideCell(column, steps, results)
	}
	return result, nil
}

// copyTree copies the files of the repository without its history.
func copyTree(root, to string) error {
	return exec.Command("bash", "-c", `set -o pipefail; tar -c --exclude=./.git -C "$1" . | tar -x -C "$2"`, "copy", root, to).Run()
}

// removeCopy removes a copy of the repository.
func removeCopy(ctx context.Context, dir string) error {
	parent, err := osfile.OpenDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }() // Closing a directory that was only read does not fail.
	return osfile.RemoveAll(ctx, parent, filepath.Base(dir))
}

// runStep runs a command. It prints the command, its output and its duration, and returns the result and the output.
func runStep(ctx context.Context, dir string, step Step) (StepResult, string) {
	fmt.Printf("$ %s\n", step.Command)
	from := time.Now()
	out, err := runBash(ctx, dir, step.Command, os.Stdout)
	result := readOutput(string(out), err == nil)
	result.Fault = strings.ReplaceAll(result.Fault, filepath.Clean(dir), ".")
	fmt.Printf("%s took %ds\n", step.Command, int(time.Since(from).Seconds()))
	return result, string(out)
}

// runBash runs a command with bash. It returns the output, and also writes it to w. The command has a process group of its
// own, which is terminated when ctx ends.
func runBash(ctx context.Context, dir, command string, w io.Writer) ([]byte, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-c", "set -eo pipefail; core='"+core+"'; "+command)
	cmd.Dir = dir
	cmd.Stdout = io.MultiWriter(&out, w)
	cmd.Stderr = cmd.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) { // A process of the command still has the output open.
		err = nil
	}
	return out.Bytes(), err
}

var (
	passed = regexp.MustCompile(`(?m)^ *--- PASS: (\S+)`)
	failed = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)
)

// readOutput returns the result of a command. The fault of a failed command is its first failed test. Without a failed test
// it is the first error of a compiler, and without such an error the last line.
func readOutput(text string, succeeded bool) StepResult {
	r := StepResult{Ran: true, Succeeded: succeeded}
	for _, match := range passed.FindAllStringSubmatch(text, -1) {
		r.Passed = append(r.Passed, match[1])
	}
	if succeeded {
		return r
	}
	if match := failed.FindStringSubmatch(text); match != nil {
		r.Fault = match[1] + " fails"
	} else if match := compilerError.FindString(text); match != "" {
		r.Fault = match
	} else {
		r.Fault = lastLine(text)
	}
	return r
}

// compilerError is an error with a place in a Go file.
var compilerError = regexp.MustCompile(`(?m)^\S+\.go:\d+(:\d+)?: .*$`)

// lastLine returns the last line that is not empty, shortened.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	line := text[strings.LastIndexByte(text, '\n')+1:]
	return line[:min(len(line), 300)]
}
