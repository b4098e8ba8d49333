package nodetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestReplaced_SidecarBecomesOrdinary: while no agent runs, a pod is replaced under its UID. The new pod has the same
// containers, but one sidecar has become an ordinary init container. Its running container belongs to the old pod. The
// node stops it and starts the new pod, instead of waiting for it for ever.
func TestReplaced_SidecarBecomesOrdinary(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	p := newPod("web", []string{"serve"})
	p.Annotations = map[string]string{"memory.podkeel.dev/i": "run=forever exit=0"}
	p.Spec.InitContainers = []v1.Container{{Name: "i", Image: "init:1", RestartPolicy: new(v1.ContainerRestartPolicyAlways)}}
	b.Apply(p)
	b.Run(time.Second)
	require.Equal(t, []string{"web/c0", "web/i"}, sortedNames(runningContainers(b.Machine())))
	b.Crash()
	p = p.DeepCopy()
	p.Annotations = map[string]string{"memory.podkeel.dev/i": "run=2s exit=0"}
	p.Spec.InitContainers[0].RestartPolicy = nil
	b.Apply(p)
	b.Start()
	b.Run(time.Second)
	assert.Equal(t, []string{"web/i"}, sortedNames(runningContainers(b.Machine())))
	b.Run(2 * time.Second)
	assert.Equal(t, []string{"web/c0"}, sortedNames(runningContainers(b.Machine())))
	_, story, _ := strings.Cut(b.Transcript(), "2/2 Running restarts=0\n")
	assert.Equal(t, `        1s  ┌ event Killing: Stopping container c0: no sandbox
        1s  └ event Killing: Stopping container i: no sandbox
        1s  StopContainer c0 grace=30s
        1s  StopContainer i grace=30s
        1s  StopSandbox
        1s  RunSandbox attempt=1
        1s  event Pulled: Container image "init:1" already present on machine
        1s  CreateContainer i attempt=1
        1s  event Created: Container i created
        1s  StartContainer i
        1s  event Started: Container i started
        1s  | 0/1 Init:0/1 restarts=1
        3s  event Pulled: Container image "web:1" already present on machine
        3s  CreateContainer c0 attempt=1
        3s  event Created: Container c0 created
        3s  StartContainer c0
        3s  event Started: Container c0 started
        3s  RemoveSandbox
        3s  | 1/1 Running restarts=1
`, story)
	b.Stop()
}
