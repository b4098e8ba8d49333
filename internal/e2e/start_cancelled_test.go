//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// TestStartCancelled: the agent is killed while containerd starts a job. containerd gives the
// start up, although the job has run. The next agent does not run it again, and says why the pod
// has Failed.
func TestStartCancelled(t *testing.T) {
	skipUnlessLong(t)
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			c := e2e.Start(t, version)
			a := e2e.StartAgent(t, c, buildAgent(t))
			s := newScene(t, c, a)
			dir := s.slowStart()
			s.writePod("job", `
restartPolicy: Never
terminationGracePeriodSeconds: 1
volumes: [{name: count, hostPath: {path: DIR}}]
initContainers:
- name: before
  image: IMAGE
  command: [sh, -c, "while ! test -e /count/begin; do sleep 0.1; done"]
  volumeMounts: [{name: count, mountPath: /count}]
containers:
- name: work
  image: IMAGE
  command: [sh, -c, "echo x >> /count/runs; sleep 1000"]
  volumeMounts: [{name: count, mountPath: /count}]
`, "DIR="+dir)
			s.waitFor("its init container runs", soon, func() bool { return len(s.runningContainers("job")) == 1 })
			require.NoError(t, os.Remove(filepath.Join(dir, "go"))) // Starts from here on do not end.
			require.NoError(t, os.WriteFile(filepath.Join(dir, "begin"), nil, 0o600))
			s.waitFor("it has run", soon, func() bool { return readFile(dir, "runs") == "x\n" || readFile(dir, "runs") == "x" })
			a.Kill()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
			a.Start()
			p := s.awaitPod("job", "it has Failed", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
			require.Len(t, p.Status.ContainerStatuses, 1)
			end := p.Status.ContainerStatuses[0].State.Terminated
			require.NotNil(t, end)
			assert.Equal(t, []any{int32(128), "StartError"}, []any{end.ExitCode, end.Reason})
			assert.Equal(t, "the agent ended while this container was starting; it may or may not have run", end.Message)
			assert.Equal(t, "container work: "+end.Message, p.Status.Message)
			assert.Len(t, s.listContainers("job"), 2, "one init container, and one attempt of the other")
		})
	}
}
