package clusterlab_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/clusterlab"
)

// program is an example of this repository that is running.
type program struct {
	*testing.T
	cmd   *exec.Cmd
	ended chan struct{}

	mu    sync.Mutex
	lines []string
	news  chan struct{} // closed by the next line
}

// runExample builds a program and runs it until the end of the test at the latest.
func runExample(t *testing.T, name string, args ...string) *program {
	return runProgram(t, buildExample(t, name), args...)
}

// buildExample builds a program of this repository.
func buildExample(t *testing.T, name string) (bin string) {
	bin = filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-o", bin, "./examples/"+name)
	build.Dir = filepath.Join("..", "..")
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return bin
}

// runProgram runs a program until the end of the test at the latest.
func runProgram(t *testing.T, bin string, args ...string) *program {
	p := &program{T: t, cmd: exec.Command(bin, args...), ended: make(chan struct{}), news: make(chan struct{})}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.cmd.Stderr = p.cmd.Stdout
	require.NoError(t, p.cmd.Start())
	go p.readLines(out)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // It may have ended.
		<-p.ended
		if t.Failed() {
			t.Log(p.printedLines())
		}
	})
	return p
}

func (p *program) readLines(out io.Reader) {
	defer close(p.ended)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, lines.Text())
		close(p.news)
		p.news = make(chan struct{})
		p.mu.Unlock()
	}
	_ = p.cmd.Wait() // terminate looks at the code.
}

// printedLines returns the output so far.
func (p *program) printedLines() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// waitForLine waits for a line that matches.
func (p *program) waitForLine(pattern string) {
	p.Helper()
	p.waitForLineWithin(2*joinLimit, pattern)
}

func (p *program) waitForLineWithin(limit time.Duration, pattern string) {
	p.Helper()
	expression, late := regexp.MustCompile(pattern), time.After(limit)
	for seen := 0; ; {
		p.mu.Lock()
		lines, news := p.lines[seen:], p.news
		seen = len(p.lines)
		p.mu.Unlock()
		for _, line := range lines {
			if expression.MatchString(line) {
				return
			}
		}
		select {
		case <-news:
		case <-p.ended:
			require.Fail(p, "it has ended before it printed "+pattern)
		case <-late:
			require.Fail(p, "it has not printed "+pattern)
		}
	}
}

// terminate sends SIGTERM and returns the exit code.
func (p *program) terminate() int {
	p.Helper()
	require.NoError(p, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.ended:
	case <-time.After(joinLimit):
		require.Fail(p, "it does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// readUsage returns the resident memory and the processor time of the process.
func (p *program) readUsage() (rss int64, cpu time.Duration) {
	p.Helper()
	return readProcessUsage(p.T, p.cmd.Process.Pid)
}

// readProcessUsage returns the resident memory and the processor time of a process.
func readProcessUsage(t *testing.T, pid int) (rss int64, cpu time.Duration) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/", pid)
	status, err := os.ReadFile(dir + "status")
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	rss, err = strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	require.NoError(t, err)
	stat, err := os.ReadFile(dir + "stat")
	require.NoError(t, err)
	const user, tick = 11, 10 * time.Millisecond
	_, after, _ = strings.Cut(string(stat), ") ")
	for _, f := range strings.Fields(after)[user : user+2] {
		ticks, err := strconv.Atoi(f)
		require.NoError(t, err)
		cpu += time.Duration(ticks) * tick
	}
	return rss << 10, cpu
}

// readNodeCalls returns the requests of nodes in the audit log, in order, in the form "patch pods/status".
func readNodeCalls(t *testing.T, c *clusterlab.Cluster) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Dir(), "audit.log"))
	require.NoError(t, err)
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		var e struct {
			AuditID, Verb string
			ObjectRef     struct{ Resource, Subresource string }
			User          struct{ Username string }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		if assert.NotEmpty(t, e.AuditID) && !seen[e.AuditID] {
			seen[e.AuditID] = true
			all = append(all, strings.TrimSuffix(e.Verb+" "+e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/"))
		}
	}
	return all
}
