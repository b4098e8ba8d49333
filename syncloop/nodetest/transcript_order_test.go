package nodetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// sidecarPod returns a pod with two containers and two sidecars, which all exit immediately when they are stopped.
func sidecarPod() *v1.Pod {
	p := newPod("web", []string{"serve"}, []string{"serve"})
	always := v1.ContainerRestartPolicyAlways
	p.Spec.InitContainers = []v1.Container{
		{Name: "a-mesh", Image: "mesh:1", RestartPolicy: &always, Command: []string{"serve"}},
		{Name: "b-log", Image: "log:1", RestartPolicy: &always, Command: []string{"serve"}},
	}
	return p
}

// The stops of one instant are in the order in which they were made, whatever the seed: sorted by
// name, a-mesh would seem to stop first.
func TestTranscript_HasTheOrderOfAnInstant(t *testing.T) {
	const want = `       10s  ┌ event Killing: Stopping container a-mesh: the pod ends
       10s  │ event Killing: Stopping container b-log: the pod ends
       10s  │ event Killing: Stopping container c0: the pod ends
       10s  └ event Killing: Stopping container c1: the pod ends
       10s  ┌ StopContainer c0 grace=30s
       10s  └ StopContainer c1 grace=30s
       10s  StopContainer b-log grace=30s
       10s  StopContainer a-mesh grace=30s
       10s  StopSandbox
`
	story := func(w nodetest.Harness) {
		w.Apply(sidecarPod())
		w.Run(10 * time.Second)
		w.Delete("uid-web")
		w.Run(time.Minute)
	}
	for seed := range uint64(50) {
		b := nodetest.New(t, nodetest.Config{Seed: seed})
		story(b)
		b.Stop()
		_, stops, _ := strings.Cut(b.Transcript(), "       10s")
		if !assert.Equal(t, want, ("       10s" + stops)[:len(want)], "seed %d", seed) {
			return
		}
	}
	nodetest.Play(t, nodetest.Config{}, story)
}

// Kills that follow each other within an instant are groups of their own, and stops that have been
// announced and have not returned yet are a group too.
func TestTranscript_KillsOfOneInstantAreGroupsOfTheirOwn(t *testing.T) {
	const announced = `       10s  event Evicted: by the test
       10s  ┌ event Killing: Stopping container c0: the pod ends
       10s  └ event Killing: Stopping container c1: the pod ends
       10s  | 2/2 Terminating restarts=0
`
	since := func(b *nodetest.Simulation) string {
		_, text, _ := strings.Cut(b.Transcript(), "       10s")
		return "       10s" + text
	}
	for seed := range uint64(20) {
		b := nodetest.New(t, nodetest.Config{Seed: seed})
		ignoresTERM := []string{"sh", "-c", "trap '' TERM; sleep infinity"}
		b.Apply(newPod("web", ignoresTERM, ignoresTERM))
		b.Run(10 * time.Second)
		evict := func(grace int64) {
			_, err := b.Node().Evict("uid-web", node.Eviction{Reason: "Evicted", Message: "by the test", GraceSeconds: &grace})
			require.NoError(t, err)
			b.Run(time.Second)
		}
		evict(20)
		assert.Equal(t, announced, since(b))
		evict(1) // Both stops are cut, and sent again.
		assert.Equal(t, announced+`       11s  ┌ StopContainer c0 grace=20s: context canceled
       11s  └ StopContainer c1 grace=20s: context canceled
       11s  ┌ event Killing: Stopping container c0: the pod ends
       11s  └ event Killing: Stopping container c1: the pod ends
`, since(b), "seed %d", seed)
		b.Stop()
	}
}
