package node

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// TestWatcher_LeavesNothingBehind: that a status was removed may be told when
// the pod has been seen off already, and is the last that is told of it.
func TestWatcher_LeavesNothingBehind(t *testing.T) {
	n, err := New(Config{})
	require.NoError(t, err)
	w := n.watch()
	defer n.unwatch(w)
	pod := &v1.Pod{}
	pod.UID, pod.Name = "a", "a"
	n.status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning})
	assert.Empty(t, w.states(n), "nobody wants it")
	n.status.RemoveOrphanedStatuses(nil)
	assert.Empty(t, w.states(n))
	assert.Empty(t, w.newest)
	assert.Empty(t, w.shown)
}
