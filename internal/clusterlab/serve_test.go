package clusterlab_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

// freePort returns a port without a listener.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

// runKubectl runs kubectl with an input. It returns the two outputs and the exit code.
func (j *joint) runKubectl(in string, args ...string) (out, complaint string, code int) {
	j.Helper()
	ctx, cancel := context.WithTimeout(j.Context(), joinLimit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	c := kubectlCommand(j.T, j.lab)(ctx, args...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(in), &stdout, &stderr
	if err := c.Run(); err != nil {
		exit := new(exec.ExitError)
		require.True(j, errors.As(err, &exit), "%v", err)
		code = exit.ExitCode()
	}
	require.NoError(j, ctx.Err())
	return stdout.String(), stderr.String(), code
}

// createShellPod makes a pod that runs a script, and waits until it has started.
func (j *joint) createShellPod(name, restart, script string) {
	j.Helper()
	j.applyManifest(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  nodeName: n1
  restartPolicy: %s
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: $IMAGE, command: [sh, -c, %q], stdin: true}]
`, name, restart, script))
}

// checkServe checks the streams that kubectl opens to a node: logs, exec, attach and port-forward.
func (j *joint) checkServe() { j.checkServeWith("") }

// checkServeWith does the work of checkServe. The script of the pod begins with listen, which must start an echo server
// on port 8080.
func (j *joint) checkServeWith(listen string) {
	j.createShellPod("web", "Always", listen+"echo one; echo two; sleep 3600")
	j.createShellPod("crash", "Always", "echo crashed; exit 1")
	j.createShellPod("job", "Never", "echo begun; sleep 3; echo over")
	j.waitForFields("*job", "{.items[?(@.status.phase!='Pending')].metadata.name}", "pod", "--field-selector=metadata.name=job")
	assert.Equal(j, "begun\nover\n", j.podLogs("job", "-f", "--pod-running-timeout=1m"), "it is followed to its end")
	j.waitForFields("Running", "{.status.phase}", "pod/web")
	assert.Equal(j, "one\ntwo\n", j.podLogs("web"))
	assert.Equal(j, "two\n", j.podLogs("web", "--tail=1"))
	assert.Equal(j, "one", j.podLogs("web", "--limit-bytes=3"))
	assert.Regexp(j, `^\d{4}-\d\d-\d\dT[^ ]+ one\n\d{4}[^ ]+ two\n$`, j.podLogs("web", "--timestamps"))
	assert.Empty(j, j.podLogs("web", "--since-time=2100-01-01T00:00:00Z"))
	j.waitForFields("*1", "{.status.containerStatuses[?(@.restartCount>0)].lastState.terminated.exitCode}", "pod/crash")
	assert.Equal(j, "crashed\n", j.podLogs("crash", "--previous"))
	_, complaint, code := j.runKubectl("", "logs", "web", "--previous")
	assert.Equal(j, 1, code)
	assert.Contains(j, complaint, `previous terminated container "c" in pod "web" not found`)

	out, complaint, code := j.runKubectl("", "exec", "web", "--", "sh", "-c", "echo hello; exit 7")
	assert.Equal(j, "hello\n 7", fmt.Sprintf("%s %d", out, code), complaint)
	assert.Contains(j, complaint, "command terminated with exit code 7")
	out, _, code = j.runKubectl("", "exec", "web", "--", "true")
	assert.Equal(j, " 0", fmt.Sprintf("%s %d", out, code))
	j.checkPortForward("pod/web")
	began := time.Now()
	j.createShellPod("attached", "Never", "sleep 10; echo late")
	j.kubectl("wait", "--for=condition=Ready", "pod/attached", "--timeout=60s")
	out, complaint, code = j.runKubectl("", "attach", "attached")
	assert.Equal(j, "late\n 0", fmt.Sprintf("%s %d", out, code), "%s, after %v", complaint, time.Since(began))
	j.Run("Streams", func(t *testing.T) {
		sub := *j
		sub.T, sub.kubectl = t, newKubectl(t, j.lab)
		sub.checkStreams()
	})
	j.kubectl("delete", "pod", "--all", "--wait=false")
	j.waitForRunning()
}

func (j *joint) podLogs(pod string, flags ...string) string {
	j.Helper()
	out, complaint, code := j.runKubectl("", append([]string{"logs", pod}, flags...)...)
	assert.Zero(j, code, "kubectl logs %s %v: %s", pod, flags, complaint)
	return out
}

// checkPortForward checks several connections to a port of a pod.
func (j *joint) checkPortForward(pod string) {
	j.Helper()
	ctx, cancel := context.WithTimeout(j.Context(), joinLimit)
	defer cancel()
	c := kubectlCommand(j.T, j.lab)(ctx, "port-forward", pod, ":8080")
	echoThroughForward(j.T, c)
	cancel()
	_ = c.Wait() // It was ended.
}

// echoThroughForward starts a kubectl that forwards a port, and checks the echo on several connections.
func echoThroughForward(t *testing.T, c *exec.Cmd) {
	t.Helper()
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	port := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	for range 3 {
		conn, err := net.Dial("tcp", port)
		require.NoError(t, err, line)
		require.NoError(t, conn.SetDeadline(time.Now().Add(joinLimit)))
		_, err = io.WriteString(conn, "hello\n")
		require.NoError(t, err)
		got, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "hello\n", got)
		require.NoError(t, conn.Close())
	}
}

// TestServe: logs, exec, attach and port-forward by kubectl, from a node in memory; who may
// not is refused by the node.
func TestServe(t *testing.T) {
	c := startLab(t, clusterlab.Config{Nodes: []string{"n1", "n2"}})
	j := &joint{T: t, lab: c, kubectl: newKubectl(t, c), images: [2]string{"web:1", "web:2"}}
	var err error
	j.seen, err = client.New(c.Rest("n1"), "n1")
	require.NoError(t, err)
	t.Cleanup(j.seen.Reconnect)
	kubeconfig, err := c.Kubeconfig("n1")
	require.NoError(t, err)
	port := freePort(t)
	p := runExample(t, "cluster", "--kubeconfig", kubeconfig, "--hostname-override", "n1", "--address", "127.0.0.1", "--port", port, "--client-ca-file", c.ClientCA())
	p.waitForLine("^joining as node n1, runtime memory$")
	j.kubectl("wait", "--for=create", "node/n1", "--timeout=60s")
	j.kubectl("wait", "--for=condition=Ready", "node/n1", "--timeout=60s")
	assert.Equal(t, port, j.getFields("{.status.daemonEndpoints.kubeletEndpoint.Port}", "node/n1"))
	j.checkServe()

	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, ask := range []struct {
		token, path string
		code        int
	}{
		{"", "/healthz", 200}, {"", "/pods", 401}, {"guess", "/pods", 401}, {"n2-token", "/pods", 403}, {"admin-token", "/pods", 200},
		{"admin-token", "/metrics", 200}, {"admin-token", "/containerLogs/default/none/c", 404},
	} {
		r, err := http.NewRequest(http.MethodGet, "https://127.0.0.1:"+port+ask.path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+ask.token)
		answer, err := direct.Do(r)
		require.NoError(t, err)
		assert.Equal(t, ask.code, answer.StatusCode, "%s as %q", ask.path, ask.token)
		require.NoError(t, answer.Body.Close())
	}
	assert.Equal(t, 0, p.terminate())
}
