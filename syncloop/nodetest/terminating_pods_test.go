package nodetest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestPods_UpdatedBeforeItsDeletion: a terminating pod has the newest spec that its worker has, also if its status has
// not changed since the update.
func TestPods_UpdatedBeforeItsDeletion(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{})
	pod := webPod("web")
	b.Apply(pod)
	b.Run(time.Second)
	pod = pod.DeepCopy()
	pod.Labels = map[string]string{"version": "2"}
	b.Apply(pod)
	b.Run(time.Second)
	b.Delete(pod.UID)
	b.Run(time.Second)
	pods := b.Node().Pods()
	require.Len(t, pods, 1)
	assert.Equal(t, "2", pods[0].Labels["version"])
	assert.NotNil(t, pods[0].DeletionTimestamp)
	b.Stop()
}
