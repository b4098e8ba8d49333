package nodetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// idleHour is how often something runs during an hour in which nothing happens.
func idleHour(t *testing.T, config node.Config, pods int, change func(*v1.Pod)) int {
	simulation := nodetest.New(t, nodetest.Config{Seed: 1, Node: config})
	for i := range pods {
		p := newPod(fmt.Sprintf("pod-%03d", i), []string{"serve"}, []string{"serve"})
		change(p)
		simulation.Apply(p)
	}
	simulation.Run(10 * time.Minute)
	before := simulation.Steps()
	simulation.Run(time.Hour)
	steps := simulation.Steps() - before
	simulation.Stop()
	return steps
}

func keepPod(*v1.Pod) {}

// I49: with an event stream an idle node lists its pods every 30 s, and does
// nothing besides, however many they are: no deadline, no image, no dead container
// and no history is looked after at intervals. Each list is five steps.
func TestSimulation_I49_AnIdleNodeOnlyLists(t *testing.T) {
	never := node.Config{Sync: node.SyncConfig{Resync: 10_000 * time.Hour}}
	const lists = 120
	assert.Equal(t, 5*lists, idleHour(t, never, 0, keepPod), "no pods")
	assert.Equal(t, 5*lists, idleHour(t, never, 110, keepPod))
	assert.Equal(t, 5*lists, idleHour(t, never, 110, func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(1_000_000)) }), "with deadlines")
	assert.Equal(t, 5*lists, idleHour(t, never, 110, func(p *v1.Pod) {
		p.Spec.Containers[1].Command, p.Spec.RestartPolicy = []string{"sleep", "5"}, v1.RestartPolicyOnFailure
	}), "with dead containers")
}

// I49: the node does its periodic work: it syncs a pod with an age limit once a minute, and probes pods. It syncs other
// unchanged pods six times an hour.
func TestSimulation_I49_ResyncsAndProbesAreCounted(t *testing.T) {
	const pods, hour = 110, 60
	syncs := 0
	config := node.Config{Hooks: node.Hooks{Workers: podworkers.Hooks{Synced: func(podworkers.Synced) { syncs++ }}}}
	deadline := func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(1_000_000)) }
	steps := idleHour(t, config, pods, deadline)
	assert.InDelta(t, pods*(hour+10), syncs, 3*pods, "one a minute")
	assert.Less(t, steps, 600+3*pods*hour)

	syncs = 0
	steps = idleHour(t, config, pods, keepPod)
	assert.Less(t, syncs, 3*pods, "until it runs")
	assert.InDelta(t, 600+pods*hour/10, steps, pods, "a step for each look")

	never := node.Config{Sync: node.SyncConfig{Resync: 10_000 * time.Hour}}
	steps = idleHour(t, never, pods, func(p *v1.Pod) { p.Spec.Containers[0].ReadinessProbe = tcpProbe(10) })
	assert.InDelta(t, 600+3*pods*360, steps, pods*360, "three steps for each probe and its turn")
}
