//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
)

// NodeName is the name of an agent's node; the pods of its manifests end in it.
const NodeName = "n1"

// BuildAgent builds the example agent and returns its path. It leaves out gRPC's tracing pages. No test uses them, and
// with them the linker would keep every method of every type.
func BuildAgent(t T, dir string) string {
	t.Helper()
	program := filepath.Join(dir, "agent")
	build := exec.Command("go", "build", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", program, "github.com/podkeel/podkeel/examples/agent")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("e2e: the agent cannot be built: %v\n%s", err, out)
	}
	return program
}

// Agent is the example agent as a process of its own, on a containerd. Its
// methods are called from one goroutine at a time.
type Agent struct {
	// Manifests is the directory it watches, State its state directory.
	Manifests, State string

	t       T
	program string
	args    []string
	address string
	log     *os.File
	process *process // nil: it does not run
}

// StartAgent runs an agent on a containerd until the test ends. More flags come
// after those it needs.
func StartAgent(t T, c *Containerd, program string, flags ...string) *Agent {
	t.Helper()
	dir, err := os.MkdirTemp(c.Dir, "agent-")
	if err != nil {
		t.Fatalf("e2e: %v", err)
	}
	a := &Agent{
		Manifests: filepath.Join(dir, "manifests"), State: filepath.Join(dir, "state"),
		t: t, program: program, address: FreePort(t),
	}
	if err := os.MkdirAll(a.Manifests, 0o755); err != nil {
		t.Fatalf("e2e: %v", err)
	}
	if a.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		t.Fatalf("e2e: %v", err)
	}
	a.args = append([]string{
		"--runtime", "cri", "--cri-endpoint", c.Endpoint, "--manifests", a.Manifests, "--state-dir", a.State,
		"--node-name", NodeName, "--listen", a.address, "--log-dir", filepath.Join(a.State, "logs"),
		"--orphan-grace", "0", // Manifests are there before the agent, and a test may not last for longer.
	}, flags...)
	t.Cleanup(func() {
		a.Kill()
		_ = a.log.Close()
		if t.Failed() {
			t.Logf("the end of the agent's log:\n%s", a.Tail())
		}
	})
	a.Start()
	return a
}

// On is the agent as another test sees it, that runs while this one's does: what
// goes wrong there fails that one. It may Write, Remove and ask; it must not
// start or end the agent.
func (a *Agent) On(t T) *Agent {
	other := *a
	other.t = t
	return &other
}

// Beside starts another agent on the same containerd.
func (a *Agent) Beside(t T, c *Containerd, flags ...string) *Agent {
	t.Helper()
	return StartAgent(t, c, a.program, flags...)
}

// Verb runs a verb of the agent's program against this agent, and returns what
// it prints.
func (a *Agent) Verb(args ...string) (string, error) {
	out, err := exec.Command(a.program, append([]string{args[0], "--server", a.address}, args[1:]...)...).CombinedOutput()
	return string(out), err
}

// FreePort returns an address of the loopback interface on which no process listens.
func FreePort(t T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("e2e: %v", err)
		return ""
	}
	defer l.Close()
	return l.Addr().String()
}

// Start starts the agent, which must not run. It does not wait for anything.
func (a *Agent) Start() {
	a.t.Helper()
	run := exec.Command(a.program, slices.Concat(a.noEvictionFlags(), a.args)...)
	run.Stdout, run.Stderr = a.log, a.log
	var err error
	if a.process, err = startProcess(run); err != nil {
		a.t.Fatalf("e2e: %v", err)
	}
}

// noEvictionFlags returns the flags that switch evictions under pressure off, so that a full disk of the host fails no
// test. Flags of the test override them. An agent of a release without evictions gets no flags.
func (a *Agent) noEvictionFlags() []string {
	a.t.Helper()
	help, err := exec.Command(a.program, "--help").CombinedOutput()
	if err != nil {
		a.t.Fatalf("e2e: %s --help: %v\n%s", a.program, err, help)
	}
	if !bytes.Contains(help, []byte("--eviction-hard")) {
		return nil
	}
	return []string{"--eviction-hard", ""}
}

// AddFlags adds flags for the next Start. A flag that is given twice counts as it was given last.
func (a *Agent) AddFlags(flags ...string) { a.args = append(a.args, flags...) }

// Kill ends the agent with SIGKILL, if it runs.
func (a *Agent) Kill() { a.endProcess(syscall.SIGKILL) }

// Stop ends the agent in good order. Containers stay.
func (a *Agent) Stop() { a.endProcess(syscall.SIGTERM) }

func (a *Agent) endProcess(signal os.Signal) {
	a.process.terminateAndWait(signal)
	a.process = nil
}

// PID returns the process ID of the agent. The agent must be running.
func (a *Agent) PID() int { return a.process.run.Process.Pid }

// Write makes a manifest what it ought to be, at once: no reader sees half of it.
func (a *Agent) Write(name, text string) {
	a.t.Helper()
	temporary := filepath.Join(a.Manifests, "."+name+".tmp")
	if err := os.WriteFile(temporary, []byte(text), 0o644); err != nil {
		a.t.Fatalf("e2e: %v", err)
	}
	if err := os.Rename(temporary, filepath.Join(a.Manifests, name)); err != nil {
		a.t.Fatalf("e2e: %v", err)
	}
}

// Remove removes a manifest.
func (a *Agent) Remove(name string) {
	a.t.Helper()
	if err := os.Remove(filepath.Join(a.Manifests, name)); err != nil {
		a.t.Fatalf("e2e: %v", err)
	}
}

// Get asks the agent's debug handler.
func (a *Agent) Get(path string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.address+path, nil)
	if err != nil {
		return "", err
	}
	req.Close = true // A connection kept would be a goroutine left.
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<20))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return string(text), err
}

// Address is where the debug handler listens.
func (a *Agent) Address() string { return a.address }

// Pods are all pods by name, without the name of the node.
func (a *Agent) Pods() (map[string]*v1.Pod, error) {
	text, err := a.Get("/pods")
	if err != nil {
		return nil, err
	}
	var list v1.PodList
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, err
	}
	pods := make(map[string]*v1.Pod, len(list.Items))
	for i := range list.Items {
		pods[strings.TrimSuffix(list.Items[i].Name, "-"+NodeName)] = &list.Items[i]
	}
	return pods, nil
}

// Await waits until the pods are as they ought to be, and fails the test if they
// are not within some time.
func (a *Agent) Await(what string, within time.Duration, done func(pods map[string]*v1.Pod) bool) {
	a.t.Helper()
	Await(a.t, what, within, func() bool {
		pods, err := a.Pods()
		return err == nil && done(pods)
	})
}

// AwaitPod is Await for one pod, which exists.
func (a *Agent) AwaitPod(name, what string, within time.Duration, done func(*v1.Pod) bool) *v1.Pod {
	a.t.Helper()
	var found *v1.Pod
	a.Await(name+": "+what, within, func(pods map[string]*v1.Pod) bool {
		found = pods[name]
		return found != nil && done(found)
	})
	return found
}

// Await waits until something holds, looking every few milliseconds, and fails
// the test if it does not within some time.
func Await(t T, what string, within time.Duration, holds func() bool) {
	t.Helper()
	clk := executor.Over(clock.RealClock{})
	for end := clk.Now().Add(within); !holds(); {
		if clk.Now().After(end) {
			t.Fatalf("e2e: not within %s: %s", within, what)
			return
		}
		_ = clk.Sleep(context.Background(), 5*time.Millisecond)
	}
}

// Tail is the end of the agent's log.
func (a *Agent) Tail() string {
	const most = 16 << 10
	text, err := os.ReadFile(a.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}
