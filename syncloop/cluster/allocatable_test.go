package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/node"
)

// unmeasured measures no signal.
type unmeasured struct{}

func (unmeasured) ReadSignals(context.Context) (eviction.Observations, error) {
	return eviction.Observations{}, nil
}

// TestCluster_CG19_Allocatable: the Node object has the capacity, and as allocatable what the reserved resources and the
// hard thresholds leave of it.
func TestCluster_CG19_Allocatable(t *testing.T) {
	list := func(cpu, memory, disk string) v1.ResourceList {
		return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory), v1.ResourceEphemeralStorage: resource.MustParse(disk)}
	}
	h := simulate(t, 1)
	h.edit = func(c *node.Config) {
		c.Scheduling.Capacity, c.Scheduling.Reserved = list("4", "4Gi", "1000"), list("500m", "1Gi", "1")
		thresholds, err := eviction.Settings{Hard: eviction.DefaultHard()}.Thresholds()
		require.NoError(t, err)
		c.Eviction = node.EvictionConfig{Signals: unmeasured{}, Policy: eviction.Policy{Thresholds: thresholds}}
	}
	h.start()
	h.after(10 * time.Second)
	status := h.server.Admin().Node("n1").Status
	texts := func(l v1.ResourceList) []string {
		return []string{l.Cpu().String(), l.Memory().String(), l.StorageEphemeral().String(), l.Pods().String()}
	}
	assert.Equal(t, []string{"4", "4Gi", "1k", "110"}, texts(status.Capacity))
	assert.Equal(t, []string{"3500m", "2972Mi", "899", "110"}, texts(status.Allocatable))
}
