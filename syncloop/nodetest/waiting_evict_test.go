package nodetest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestWaiting_EvictedItNeverStarts: a pod that waits for another to end is evicted. The
// other may be a previous incarnation of its own UID, of which a worker still knows: that is not
// who is meant.
func TestWaiting_EvictedItNeverStarts(t *testing.T) {
	for _, uid := range []types.UID{"uid-old", "uid-new"} {
		two := resource.MustParse("2")
		b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{Capacity: v1.ResourceList{v1.ResourceCPU: two}}})
		b.Apply(heavy("old", 20))
		b.Apply(heavy("other", 20))
		b.Run(5 * time.Second)
		b.Delete("uid-old")
		b.Delete("uid-other")
		b.Run(time.Second)
		p := heavy("new", 1)
		p.UID = uid
		p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = two
		b.Apply(p)
		b.Run(time.Second)
		require.Contains(t, b.Transcript(), "event AdmissionDeferred")
		ended, err := b.Node().Evict(uid, node.Eviction{Message: "there is no room"})
		require.NoError(t, err)
		b.Run(time.Second)
		select {
		case <-ended.Done():
			assert.NoError(t, ended.Err())
		default:
			t.Error("nothing runs, and nothing is to be waited for")
		}
		b.Run(time.Minute)
		assert.Equal(t, "Failed Evicted", state(b, uid))
		for _, known := range b.Node().Pods() {
			assert.Equal(t, "there is no room", known.Status.Message)
			assert.True(t, slices.ContainsFunc(known.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.DisruptionTarget }), uid)
		}
		assert.Empty(t, running(b.Machine()))
		b.Stop()
	}
}

// TestWaiting_AdmittedItHasNoReason: why a pod waited to be admitted is no reason of
// what holds it up then.
func TestWaiting_AdmittedItHasNoReason(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: oneCPU()})
	b.Apply(heavy("old", 5))
	b.Run(5 * time.Second)
	b.Delete("uid-old")
	b.Run(time.Second)
	b.Apply(heavy("new", 1))
	b.Run(time.Second)
	require.Equal(t, "Pending "+syncloop.ReasonAdmissionDeferred, state(b, "uid-new"))
	b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: true})
	b.Run(10 * time.Second)
	assert.Equal(t, "Pending ", state(b, "uid-new"))
	b.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true})
	b.Run(time.Minute)
	assert.Equal(t, "Running ", state(b, "uid-new"))
	b.Stop()
}
