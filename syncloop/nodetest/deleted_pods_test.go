package nodetest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestPods_ShowADroppedPodUntilItsContainersHaveStopped: one that was dropped, and one
// whose manifest is gone, as kubectl shows a pod that is being deleted.
func TestPods_ShowADroppedPodUntilItsContainersHaveStopped(t *testing.T) {
	files := source.NewHandle()
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}}})
	b.Apply(heavyPod("web", 20))
	require.NoError(t, files.Apply(heavyPod("etcd", 30)))
	b.Apply(newPod("stays", []string{"serve"}))
	b.Run(5 * time.Second)
	assert.ElementsMatch(t, []string{"etcd 1/1 Running", "web 1/1 Running", "stays 1/1 Running"}, podLines(b))
	b.Delete("uid-web")
	files.Delete("uid-etcd")
	b.Run(time.Second)
	assert.Equal(t, []string{"etcd 1/1 Terminating", "web 1/1 Terminating", "stays 1/1 Running"}, podLines(b))
	for _, p := range b.Node().Pods()[:2] {
		require.NotNil(t, p.DeletionTimestamp)
		assert.Equal(t, nodetest.Epoch.Add(5*time.Second+time.Duration(*p.DeletionGracePeriodSeconds)*time.Second), p.DeletionTimestamp.Time, p.Name)
	}
	b.Run(18 * time.Second)
	assert.Equal(t, []string{"etcd 1/1 Terminating", "web 1/1 Terminating", "stays 1/1 Running"}, podLines(b))
	b.Run(2 * time.Second)
	assert.Equal(t, []string{"etcd 1/1 Terminating", "stays 1/1 Running"}, podLines(b))
	b.Run(10 * time.Second)
	assert.Equal(t, []string{"stays 1/1 Running"}, podLines(b))
	b.Stop()
}

// TestStatus_OfAPodThatWentWhileNoNodeRan: the next node has no status of a pod that was removed while no node ran, and
// removes its containers.
func TestStatus_OfAPodThatWentWhileNoNodeRan(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Apply(heavyPod("web", 20))
	b.Run(5 * time.Second)
	b.Crash()
	b.Delete("uid-web")
	b.AssertStatus("web", "1/1 Running restarts=0")
	b.Start()
	b.AssertStatus("web", "1/1 Running restarts=0")
	b.RunUntil(func() bool { return b.Status("web") == "gone" })
	assert.Empty(t, b.Machine().Snapshot())
	assert.Empty(t, b.Status("unheard-of"))
	b.Stop()
}
