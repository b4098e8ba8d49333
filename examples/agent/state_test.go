package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// TestState_Releases: an agent reads the state directory of each released version. testdata/state has one of each,
// as an agent left it that was killed while these pods were there:
//
//   - web-n1, a static pod with a file in its emptyDir;
//   - job-n1, a static pod that has succeeded;
//   - created, a pod of the local API with a file in its emptyDir and a finished startup probe;
//   - done, a pod of the local API that has failed with code 3.
//
// Pods that have ended do not run again, the other pods run, and their volumes are kept. A directory of a
// release is never changed: a format that an agent can no longer read is refused with one sentence, and this test says so.
func TestState_Releases(t *testing.T) {
	releases, err := os.ReadDir("testdata/state")
	require.NoError(t, err)
	require.NotEmpty(t, releases)
	for _, release := range releases {
		t.Run(release.Name(), func(t *testing.T) {
			saved := filepath.Join("testdata/state", release.Name())
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(saved)))
			state := filepath.Join(dir, "state")
			o, err := parseAgentOptions([]string{"--manifests", filepath.Join(dir, "manifests"), "--state-dir", state, "--node-name", "n1",
				"--write-kubeconfig", filepath.Join(dir, "kubeconfig"), "--api-write", "--events=false"})
			require.NoError(t, err)
			o.listen, o.api.listen = "127.0.0.1:0", "127.0.0.1:0"
			out, log := newLines(), newLines()
			a, err := newAgent(o, out, log)
			require.NoError(t, err)
			signals, ended := make(chan os.Signal, 1), make(chan error, 1)
			go func() { ended <- a.runUntilStopped(signals) }()
			for waiting := map[string]string{"created ": "1/1", "web-n1 ": "1/1", "done ": "Error", "job-n1 ": "Completed"}; len(waiting) > 0; {
				line := out.next(t)
				for pod, word := range waiting {
					if strings.HasPrefix(line, pod) && strings.Contains(line, word) {
						delete(waiting, pod)
					}
				}
			}
			pods := map[string]*v1.Pod{}
			for _, pod := range a.node.Pods() {
				pods[pod.Name] = pod
			}
			signals <- os.Interrupt
			require.NoError(t, <-ended)
			for _, line := range log.logged() {
				assert.NotContains(t, line, "level=WARN")
				assert.NotContains(t, line, "level=ERROR")
			}
			for _, name := range []string{"done", "job-n1"} {
				pod := pods[name]
				before := savedStatus(t, filepath.Join(saved, "state", "ended", string(pod.UID)+".json"))
				assert.Equal(t, before.ContainerStatuses[0].State.Terminated, pod.Status.ContainerStatuses[0].State.Terminated, "it did not run again")
				assert.Equal(t, before.Phase, pod.Status.Phase)
			}
			for _, name := range []string{"created", "web-n1"} {
				file, err := os.ReadFile(filepath.Join(state, "pods", string(pods[name].UID), "volumes", "d", "file"))
				require.NoError(t, err)
				assert.Equal(t, "kept\n", string(file), name)
			}
			credentials, err := os.ReadFile(filepath.Join(saved, "state", "api-credentials.json"))
			require.NoError(t, err)
			kept, err := os.ReadFile(filepath.Join(state, "api-credentials.json"))
			require.NoError(t, err)
			assert.Equal(t, string(credentials), string(kept), "a kubeconfig stays valid")
		})
	}
}

// savedStatus reads a terminal status from a state directory.
func savedStatus(t *testing.T, file string) v1.PodStatus {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var saved struct{ Status v1.PodStatus }
	require.NoError(t, json.Unmarshal(text, &saved))
	return saved.Status
}
