package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// oneShot is a pod that exits with a code after some seconds.
func oneShot(name string, code, seconds int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {restartPolicy: Never, containers: [{name: c, image: i, command: [sh, -c, 'sleep %d; exit %d']}]}\n", name, seconds, code)
}

// write writes a file of manifests.
func write(t *testing.T, name string, docs ...string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(docs, "---\n")), 0o600))
	return path
}

// TestRunFiles: the pods of files run, lines show their changes, and the exit code is that container's which failed
// first.
func TestRunFiles(t *testing.T) {
	good, bad := write(t, "good.yaml", oneShot("good", 0, 2)), write(t, "bad.yaml", oneShot("late", 3, 9), oneShot("early", 4, 5))
	for want, files := range map[int][]string{0: {good}, 4: {good, bad}} {
		synctest.Test(t, func(t *testing.T) {
			var out, log output
			began := time.Now()
			assert.Equal(t, want, run(append([]string{"run", "--node-name", "n"}, files...), nil, &out, &log))
			assert.Less(t, time.Since(began), 15*time.Second)
			lines := strings.Join(out.lasting(), "\n")
			assert.Regexp(t, `(?m)^good +1/1 +Running `, lines)
			assert.Regexp(t, `(?m)^good +0/1 +Completed `, lines)
			if want != 0 {
				assert.Regexp(t, `(?m)^early +0/1 +Error `, lines)
			}
			assert.Contains(t, log.String(), " Normal Started pod/default/good: Container c started\n")
			assert.NotContains(t, log.String(), "level=INFO")
			assert.True(t, strings.HasSuffix(log.String(), "\nagent: the containers were simulated: no program of an image has run (--runtime cri runs them)\n"), log.String())
		})
	}
}

// TestRunFiles_Stdin: - is standard input.
func TestRunFiles_Stdin(t *testing.T) {
	in, err := os.Open(write(t, "x.yaml", oneShot("x", 7, 1)))
	require.NoError(t, err)
	defer in.Close()
	before := os.Stdin
	os.Stdin = in
	defer func() { os.Stdin = before }()
	synctest.Test(t, func(t *testing.T) {
		var out, log output
		assert.Equal(t, 7, run([]string{"run", "-"}, nil, &out, &log))
	})
}

// TestRunFiles_Interrupted: a signal stops the pods within their grace periods, and the exit code shows it.
func TestRunFiles_Interrupted(t *testing.T) {
	file := write(t, "web.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {memory.podkeel.dev/c: 'run=forever ignore-term'}}\nspec: {terminationGracePeriodSeconds: 7, containers: [{name: c, image: i}]}\n")
	synctest.Test(t, func(t *testing.T) {
		var out, log output
		signals := make(chan os.Signal, 1)
		time.AfterFunc(10*time.Second, func() { signals <- syscall.SIGINT })
		began := time.Now()
		assert.Equal(t, exitInterrupted, run([]string{"run", file}, signals, &out, &log))
		assert.GreaterOrEqual(t, time.Since(began), 17*time.Second, "the grace")
		assert.Less(t, time.Since(began), 20*time.Second)
		assert.Contains(t, out.String(), "Terminating")
	})
}

// TestRunFiles_BadFiles: every fault is listed with its file, and no pod runs.
func TestRunFiles_BadFiles(t *testing.T) {
	one := write(t, "one.yaml", oneShot("x", 0, 1))
	two := write(t, "two.yaml", oneShot("x", 0, 1))
	bad := write(t, "bad.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: c}]}\n---\nkind: Job\n")
	code, stdout, stderr := called("run", one, two, bad)
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "agent: "+two+": the pod default/x is in "+one+" too\n"+
		"agent: "+bad+": line 4: spec.containers[0].image: missing: expected the name of an image\n"+
		"agent: "+bad+": line 6: apiVersion: missing: expected v1\n"+
		"agent: "+bad+": line 6: kind: \"Job\": expected Pod, PodList or List\n", stderr)
}

// TestBatchExitCode: the container that failed first in time counts, a sidecar never. A failed pod without such a container
// counts as 1.
func TestBatchExitCode(t *testing.T) {
	end := func(name string, code int32, at int64) v1.ContainerStatus {
		return v1.ContainerStatus{Name: name, State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.Unix(at, 0)}}}
	}
	failed := func(statuses ...v1.ContainerStatus) *v1.Pod {
		return &v1.Pod{Status: v1.PodStatus{Phase: v1.PodFailed, ContainerStatuses: statuses}}
	}
	done := failed(end("a", 9, 0))
	done.Status.Phase = v1.PodSucceeded
	always := v1.ContainerRestartPolicyAlways
	sidecar := failed(end("c", 5, 2))
	sidecar.Spec.InitContainers = []v1.Container{{Name: "s", RestartPolicy: &always}}
	sidecar.Status.InitContainerStatuses = []v1.ContainerStatus{end("s", 4, 1)}
	for _, c := range []struct {
		want int
		pods []*v1.Pod
	}{
		{0, nil},
		{0, []*v1.Pod{{Status: v1.PodStatus{Phase: v1.PodRunning}}}},
		{0, []*v1.Pod{done}},
		{1, []*v1.Pod{failed()}},
		{1, []*v1.Pod{failed(end("a", 0, 1))}},
		{3, []*v1.Pod{failed(end("a", 0, 1), end("b", 3, 2))}},
		{4, []*v1.Pod{failed(end("a", 3, 5)), failed(end("a", 4, 4))}},
		{3, []*v1.Pod{failed(end("a", 3, 5)), failed(end("a", 4, 5))}},
		{5, []*v1.Pod{sidecar}},
	} {
		assert.Equal(t, c.want, batchExitCode(c.pods))
	}
}

// TestRunFiles_Logs: the output of containers is printed to the last line, also of init containers and of each restart.
// Without --logs it is not printed.
func TestRunFiles_Logs(t *testing.T) {
	file := write(t, "x.yaml", `
apiVersion: v1
kind: Pod
metadata:
  name: x
  annotations:
    memory.podkeel.dev/setup: run=1s print=ready
    memory.podkeel.dev/c: run=1s exit=1 print=first; run=3s exit=0 print=second print@2s=last
spec: {restartPolicy: OnFailure, initContainers: [{name: setup, image: i}], containers: [{name: c, image: i}]}
`)
	for _, flag := range []string{"--logs", "--logs=false"} {
		synctest.Test(t, func(t *testing.T) {
			var out, log output
			assert.Equal(t, 0, run([]string{"run", flag, file}, nil, &out, &log), log.String())
			var lines []string
			for line := range strings.Lines(out.String()) {
				if strings.HasPrefix(line, "[") {
					lines = append(lines, strings.TrimSpace(line))
				}
			}
			want := []string{"[pod/x/setup] ready", "[pod/x/c] first", "[pod/x/c] second", "[pod/x/c] last"}
			if flag != "--logs" {
				want = nil
			}
			assert.Equal(t, want, lines)
		})
	}
}

// TestLogPrinter_Lines: a line is printed when it is complete, when it is too long, and at the end. Control characters
// are escaped for a terminal.
func TestLogPrinter_Lines(t *testing.T) {
	for raw, want := range map[bool]string{
		true:  "[p] a\x1bb\n[p] cd\n[p] " + strings.Repeat("x", maxLogLine) + "\n[p] y\n[p] " + strings.Repeat("z", maxLogLine) + "\n[p] \n[p] end\n",
		false: "[p] a\\x1bb\n[p] cd\n[p] " + strings.Repeat("x", maxLogLine) + "\n[p] y\n[p] " + strings.Repeat("z", maxLogLine) + "\n[p] \n[p] end\n",
	} {
		var out strings.Builder
		w := &linePrefixer{printer: &logPrinter{out: &out, unescaped: raw}, prefix: "[p] "}
		for _, text := range []string{"a\x1bb\r\nc", "d\n", strings.Repeat("x", maxLogLine), "y\n", strings.Repeat("z", maxLogLine), "\n\nend"} {
			n, err := w.Write([]byte(text))
			require.NoError(t, err)
			require.Equal(t, len(text), n)
		}
		w.printPartialLine()
		assert.Equal(t, want, out.String())
	}
}
