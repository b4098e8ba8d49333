//go:build unix

package main

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/runtimetest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "16") // The cases wait for real processes. There is such a flag.
	goleak.VerifyTestMain(m)
}

// TestConformance: the runtime keeps all promises of package runtime but those about what a process
// of the machine does not have.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the time of real processes")
	}
	for _, c := range runtimetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			said, beats := filepath.Join(t.TempDir(), "ready"), filepath.Join(t.TempDir(), "beats")
			script := func(trap string) []string {
				return []string{"sh", "-c", trap + ": >" + said + "; while true; do sleep 1; done"}
			}
			c.Run(t, runtimetest.Harness{
				Runtime: newProcesses(), NoImages: true,
				Forever: script("trap 'exit 143' TERM; "), IgnoreTerm: script("trap '' TERM; "),
				Descendant: script("trap 'exit 143' TERM; (trap '' TERM; while true; do echo beat >>" + beats + "; sleep 1; done) & "),
				CountHeartbeats: func(context.Context, string) (int, error) {
					text, err := os.ReadFile(beats)
					if os.IsNotExist(err) {
						err = nil
					}
					return strings.Count(string(text), "beat\n"), err
				},
				Ready: func(context.Context, string) (bool, error) {
					_, err := os.Stat(said)
					return err == nil, nil
				},
			})
		})
	}
}

// TestStopContainer_Unkillable: a call that stops a process which does not exit after KILL returns when its context ends.
// The container keeps running for the next call.
func TestStopContainer_Unkillable(t *testing.T) {
	p := newProcesses()
	c := &process{cmd: exec.Command("sleep", "60"), done: make(chan struct{})} // The open channel says that it has not exited.
	setNewProcessGroup(c.cmd)
	require.NoError(t, c.cmd.Start())
	c.State = runtime.StateRunning
	p.mu.containers["c"] = c
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: "c"}), context.DeadlineExceeded)
	require.Equal(t, runtime.StateRunning, c.State)
	close(c.done)
	require.NoError(t, p.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: "c"}))
	require.Error(t, c.cmd.Wait(), "it was killed")
}

// output takes lines of several goroutines, as standard output does.
type output struct {
	mu sync.Mutex
	strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Builder.Write(p)
}

// TestRun: the example shows what it says, and leaves no process behind.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	t.Parallel()
	var out output
	require.NoError(t, run(t.Context(), &out, 3*time.Second))
	for _, want := range []string{"web 1/1 Running\n", "flaky 1/1 Running, 1 restart\n", "draining\n", "web 0/1 Terminated\n"} {
		assert.Contains(t, out.String(), want)
	}
}
