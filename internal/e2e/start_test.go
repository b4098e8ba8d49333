//go:build linux

package e2e_test

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A container has its command, arguments, directory and environment, the pod's
// address among it; sandbox and container have the kubelet's names and labels.
func checkStart(s *scene) {
	s.writePod("start", `
terminationGracePeriodSeconds: 2
containers:
- name: web
  image: IMAGE
  command: [sh, -c]
  args: ['echo "$(GREETING) $NAME $IP $MEMORY $COLOUR $WORD $PWD"; trap "exit 0" TERM; sleep 100000 & wait']
  workingDir: /tmp
  resources: {limits: {memory: 64Mi}}
  env:
  - {name: GREETING, value: hello}
  - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
  - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
  - {name: MEMORY, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
  - {name: COLOUR, valueFrom: {configMapKeyRef: {name: settings, key: colour}}}
  - {name: WORD, valueFrom: {secretKeyRef: {name: password, key: word}}}
`, "labels: {app: shop}\nannotations: {note: kept}")
	p := s.awaitReady("start")
	sandbox := s.onlySandbox("start")
	require.NotEmpty(s, p.Status.PodIP)
	assert.Equal(s, p.Status.PodIP, sandbox.Network.Ip)
	s.waitFor("it has printed", soon, func() bool { return s.readLog("start", "web") != "" })
	assert.Equal(s, "hello start-n1 "+p.Status.PodIP+" 64 green sesame /tmp\n", s.readLog("start", "web"))

	assert.Equal(s, &cri.PodSandboxMetadata{Name: "start-n1", Namespace: "default", Uid: string(p.UID)}, sandbox.Metadata)
	assert.Equal(s, "shop", sandbox.Labels["app"])
	assert.Equal(s, "kept", sandbox.Annotations["note"])
	web := s.runningContainer("start", "web")
	assert.Equal(s, &cri.ContainerMetadata{Name: "web"}, web.Metadata)
	for _, labels := range []map[string]string{sandbox.Labels, web.Labels} {
		assert.Equal(s, "start-n1", labels["io.kubernetes.pod.name"])
		assert.Equal(s, "default", labels["io.kubernetes.pod.namespace"])
		assert.Equal(s, string(p.UID), labels["io.kubernetes.pod.uid"])
	}
	assert.Equal(s, "web", web.Labels["io.kubernetes.container.name"])
	assert.Equal(s, "containerd://"+web.Id, statusOf(p, "web").ContainerID)
	assert.WithinDuration(s, time.Unix(0, web.StartedAt), statusOf(p, "web").State.Running.StartedAt.Time, time.Second)
	s.removePod("start")
}

// Logs lie where the kubelet puts them, and are to be had of the agent.
func checkLogs(s *scene) {
	s.writePod("logs", `
terminationGracePeriodSeconds: 2
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'echo one; echo two; echo three >&2; trap "exit 0" TERM; sleep 100000 & wait']
`)
	p := s.awaitReady("logs")
	s.waitFor("it has printed", soon, func() bool { return strings.Count(s.readLog("logs", "web"), "\n") == 3 })
	lines := strings.SplitAfter(s.readLog("logs", "web"), "\n")
	assert.ElementsMatch(s, []string{"one\n", "two\n", "three\n", ""}, lines) // of two streams, in any order
	tail, err := s.agent.Get("/logs/default/logs-n1/web?tail=1")
	require.NoError(s, err)
	assert.Equal(s, lines[2], tail)
	path := filepath.Join(s.agent.State, "logs", "default_logs-n1_"+string(p.UID), "web", "0.log")
	assert.Equal(s, path, s.runningContainer("logs", "web").LogPath)
	assert.Contains(s, readFile(filepath.Dir(path), "0.log"), " stderr F three")
	s.removePod("logs")
}
