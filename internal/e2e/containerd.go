//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
)

// T is what this package needs of a test. A program that measures can be one.
type T interface {
	// Helper marks the caller as a helper of tests.
	Helper()
	// Logf writes to the log of the test.
	Logf(format string, args ...any)
	// Fatalf fails the test and ends its goroutine.
	Fatalf(format string, args ...any)
	// Skipf skips the test and ends its goroutine.
	Skipf(format string, args ...any)
	// Cleanup has a function called at the end of the test.
	Cleanup(func())
	// Failed reports whether the test has failed.
	Failed() bool
}

// waitTimeout is how long a containerd may take to come up.
const waitTimeout = 60 * time.Second

// Containerd is a private containerd. Its methods are called from one
// goroutine at a time.
type Containerd struct {
	// Endpoint is where it speaks CRI, as "unix:///…".
	Endpoint string
	// Dir is where everything of it lies.
	Dir string
	// Registry has the images.
	Registry *Registry
	// Version is its family.
	Version Version

	t        T
	executor executor.Executor
	program  program
	bridge   string
	plugins  string // the directory of those that make networks
	conn     *grpc.ClientConn
	process  *process // nil: it does not run
}

// Start runs a containerd of a family until the test ends. It returns when
// sandboxes can be made.
func Start(t T, version Version) *Containerd {
	t.Helper()
	p, missing := findPrograms(version)
	if missing != "" {
		skipOrFailInCI(t, missing)
		return nil
	}
	dir, err := os.MkdirTemp("", "podkeel-")
	if err != nil {
		t.Fatalf("e2e: %v", err)
	}
	c := &Containerd{
		Endpoint: "unix://" + filepath.Join(dir, "c.sock"), Dir: dir, Version: version,
		t: t, executor: executor.Over(clock.RealClock{}), program: p, plugins: pluginDir, bridge: "pk" + filepath.Base(dir)[len("podkeel-"):],
	}
	if len(c.bridge) > 15 { // what the kernel takes
		c.bridge = c.bridge[:15]
	}
	t.Cleanup(c.removeAll)
	c.Registry = serveRegistryWithImages(t)
	c.writeConfig()
	c.conn, err = grpc.NewClient(c.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
	if err != nil {
		t.Fatalf("e2e: %v", err)
	}
	c.Restart()
	return c
}

// skipOrFailInCI skips the test because something is missing on the machine. If the environment variable CI is
// "true", it fails the test instead.
func skipOrFailInCI(t T, missing string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("e2e: this machine cannot run containers: %s", missing)
		return
	}
	t.Skipf("e2e: this machine cannot run containers: %s", missing)
}

// Conn is a connection for bare CRI calls. It lives as long as the test.
func (c *Containerd) Conn() *grpc.ClientConn { return c.conn }

// Kill ends containerd with SIGKILL, as a crash would. Shims and containers
// stay.
func (c *Containerd) Kill() { c.endProcess(syscall.SIGKILL) }

// Stop ends containerd in good order. Shims and containers stay.
func (c *Containerd) Stop() { c.endProcess(syscall.SIGTERM) }

// Restart starts containerd, which must not run, and waits until it is ready.
func (c *Containerd) Restart() {
	c.t.Helper()
	if err := c.startProcess(); err != nil {
		c.t.Fatalf("e2e: %v", err)
		return
	}
	if err := c.waitUntilReady(); err != nil {
		c.t.Fatalf("e2e: containerd %s does not become ready: %v\n%s", c.Version, err, c.logTail())
	}
}

// PID returns the process ID of containerd. containerd must be running.
func (c *Containerd) PID() int { return c.process.run.Process.Pid }

// Prefer puts a directory before the machine's own in the PATH of containerd, from the next Restart on. A test replaces
// runc with it, for example.
func (c *Containerd) Prefer(dir string) { c.program.path = dir + ":" + c.program.path }

// Plugins has networks made by the programs in a directory, from the next Restart
// on.
func (c *Containerd) Plugins(dir string) {
	c.t.Helper()
	c.plugins = dir
	c.writeConfig()
}

// startProcess starts containerd with its configuration file and appends its output to the log file.
func (c *Containerd) startProcess() error {
	log, err := os.OpenFile(c.filePath("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	run := exec.Command(c.program.containerd, "--config", c.filePath("config.toml"))
	run.Stdout, run.Stderr = log, log
	run.Env = append(os.Environ(), "PATH="+c.program.path)
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.process, err = startProcess(run)
	return err
}

// waitUntilReady waits until the CRI conditions RuntimeReady and NetworkReady are true. It returns an error if
// containerd exits or after waitTimeout.
func (c *Containerd) waitUntilReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	client := cri.NewRuntimeServiceClient(c.conn)
	for {
		c.conn.ResetConnectBackoff()
		status, err := client.Status(ctx, &cri.StatusRequest{})
		if err == nil && allTrue(status.GetStatus().GetConditions()) {
			return nil
		}
		if !c.process.isRunning() {
			return fmt.Errorf("it has ended: %v", c.process.err)
		}
		if wait := c.executor.Sleep(ctx, 20*time.Millisecond); wait != nil {
			if err == nil {
				err = wait
			}
			return err
		}
	}
}

func allTrue(conditions []*cri.RuntimeCondition) bool {
	for _, condition := range conditions {
		// Others, as that about deprecations, say nothing about being ready.
		ready := condition.GetType() == cri.RuntimeReady || condition.GetType() == cri.NetworkReady
		if ready && !condition.GetStatus() {
			return false
		}
	}
	return len(conditions) > 0
}

func (c *Containerd) endProcess(signal os.Signal) {
	c.process.terminateAndWait(signal)
	c.process = nil
}

// filePath returns the path of a file in the directory of this containerd.
func (c *Containerd) filePath(name string) string { return filepath.Join(c.Dir, name) }

// Said are the lines of containerd's log in which a word is.
func (c *Containerd) Said(word string) (lines []string) {
	text, err := os.ReadFile(c.filePath("log"))
	if err != nil {
		return []string{err.Error()}
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, word) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// logTail returns the last 4 KiB of containerd's log, or the error text if the log cannot be read.
func (c *Containerd) logTail() string {
	const most = 4 << 10
	text, err := os.ReadFile(c.filePath("log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}
