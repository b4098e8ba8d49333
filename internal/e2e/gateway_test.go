//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// gateway is the program examples/gateway as a process of its own, with its standard input as the bus.
type gateway struct {
	*testing.T
	c                   *e2e.Containerd
	program, dir, state string
	run                 *exec.Cmd
	bus                 io.WriteCloser
	starts              int
}

// startProgram starts the program. Its output goes to a file of its own.
func (g *gateway) startProgram() {
	g.Helper()
	g.starts++
	out, err := os.Create(g.outputFile())
	require.NoError(g, err)
	defer out.Close()
	log, err := os.OpenFile(filepath.Join(g.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(g, err)
	defer log.Close()
	g.run = exec.Command(g.program, "--state-dir", g.state, "--cri-endpoint", g.c.Endpoint, "--eviction=false") // A full disk of the host fails no test.
	g.run.Stdout, g.run.Stderr = out, log
	g.bus, err = g.run.StdinPipe()
	require.NoError(g, err)
	require.NoError(g, g.run.Start())
}

// outputFile returns the file with the output of the present process.
func (g *gateway) outputFile() string { return filepath.Join(g.dir, fmt.Sprint("out-", g.starts)) }

// signalAndWait sends a signal and waits until the process has exited.
func (g *gateway) signalAndWait(s os.Signal) error {
	g.Helper()
	require.NoError(g, g.run.Process.Signal(s))
	return g.run.Wait()
}

// waitForReport waits until the process has reported a state of a pod.
func (g *gateway) waitForReport(line string) {
	g.Helper()
	e2e.Await(g, line, time.Minute, func() bool {
		text, err := os.ReadFile(g.outputFile())
		return err == nil && bytes.Contains(text, []byte(line+"\n"))
	})
}

// applyPod delivers a pod with one container.
func (g *gateway) applyPod(name, policy, command string) {
	g.Helper()
	_, err := fmt.Fprintf(g.bus, `{"apply": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q}, "spec": {"restartPolicy": %q, `+
		`"terminationGracePeriodSeconds": 1, "containers": [{"name": "c", "image": %q, "command": ["sh", "-c", %q]}]}}}`+"\n", name, policy, g.c.Registry.Image(), command)
	require.NoError(g, err)
}

// deletePod delivers the deletion of a pod.
func (g *gateway) deletePod(address string) {
	g.Helper()
	_, err := fmt.Fprintf(g.bus, "{\"delete\": %q}\n", address)
	require.NoError(g, err)
}

// containerStates returns the states and IDs of all containers, by pod.
func (g *gateway) containerStates() map[string]string {
	g.Helper()
	list, err := cri.NewRuntimeServiceClient(g.c.Conn()).ListContainers(g.Context(), &cri.ListContainersRequest{})
	require.NoError(g, err)
	all := map[string]string{}
	for _, c := range list.Containers {
		all[c.Labels["io.kubernetes.pod.name"]] += fmt.Sprint(c.State, " ", c.Id, "\n")
	}
	return all
}

// TestGateway: examples/gateway on containerd. After a kill the next process adopts its pods before the bus delivers
// anything, and runs no job again. SIGTERM stops the pods. After a power cut the server starts again and the job does not.
// A job that is deleted before a kill and applied after it runs.
func TestGateway(t *testing.T) {
	skipUnlessLong(t)
	t.Parallel()
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			c := e2e.Start(t, version)
			dir := t.TempDir()
			g := &gateway{T: t, c: c, program: filepath.Join(dir, "gateway"), dir: dir, state: filepath.Join(dir, "state")}
			out, err := exec.Command("go", "build", "-o", g.program, "github.com/podkeel/podkeel/examples/gateway").CombinedOutput()
			require.NoError(t, err, string(out))
			t.Cleanup(func() {
				_ = g.run.Process.Kill() // It fails for a process that has exited.
				_ = g.run.Wait()
				if text, _ := os.ReadFile(filepath.Join(dir, "log")); t.Failed() {
					t.Logf("the log of the gateway:\n%s", text)
				}
			})
			g.startProgram()
			g.applyPod("web", "Always", `trap "exit 0" TERM; sleep 100000 & wait`)
			g.applyPod("job", "Never", "exit 0")
			g.waitForReport("default/web 1/1 Running")
			g.waitForReport("default/job 0/1 Completed")
			before := g.containerStates()
			require.Error(t, g.signalAndWait(syscall.SIGKILL))

			g.startProgram()
			g.waitForReport("default/web 1/1 Running")
			g.waitForReport("default/job 0/1 Completed")
			assert.Equal(t, before, g.containerStates(), "adopted")
			require.NoError(t, g.signalAndWait(syscall.SIGTERM))
			assert.NotContains(t, fmt.Sprint(g.containerStates()), cri.ContainerState_CONTAINER_RUNNING.String())

			g.startProgram()
			g.waitForReport("default/web 1/1 Running, 1 restart")
			require.Error(t, g.signalAndWait(syscall.SIGKILL))
			c.Reboot()
			c.Restart()
			g.startProgram()
			e2e.Await(t, "the server runs after the power cut", time.Minute, func() bool {
				return strings.Contains(g.containerStates()["web"], cri.ContainerState_CONTAINER_RUNNING.String())
			})
			assert.Equal(t, before["job"], g.containerStates()["job"], "the job has not run again")
			g.deletePod("default/job")
			e2e.Await(t, "the file of the job is gone", time.Minute, func() bool {
				files, err := filepath.Glob(filepath.Join(g.state, "desired", "*.json"))
				return err == nil && len(files) == 1
			})
			require.Error(t, g.signalAndWait(syscall.SIGKILL)) // The terminal status of the job may still be stored.

			g.startProgram()
			g.applyPod("job", "Never", "exit 0")
			g.waitForReport("default/job 0/1 Completed")
			after := strings.Replace(g.containerStates()["job"], before["job"], "", 1) // The former container is removed after 30 s.
			assert.Contains(t, after, cri.ContainerState_CONTAINER_EXITED.String(), "the applied job has run")
			g.deletePod("default/web")
			e2e.Await(t, "web is gone", time.Minute, func() bool { return g.containerStates()["web"] == "" })
			require.NoError(t, g.signalAndWait(syscall.SIGTERM))
		})
	}
}
