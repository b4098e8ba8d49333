package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/node"
)

// createRecorder notes the requests for containers.
type createRecorder struct {
	*memory.Runtime
	containers []runtime.CreateContainerRequest
}

func (a *createRecorder) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	a.containers = append(a.containers, req)
	return a.Runtime.CreateContainer(ctx, req)
}

// TestNode_MachineIsTold: a resourceFieldRef of a container without a limit shows Capacity less
// Reserved, or else MachineCapacity, in each case less hard eviction thresholds. Resources without a Capacity are not checked.
func TestNode_MachineIsTold(t *testing.T) {
	of := func(memory string) v1.ResourceList {
		return v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory)}
	}
	for _, c := range []struct {
		config node.Config
		told   string
		score  int
	}{
		{node.Config{}, "0", 999},
		{node.Config{Scheduling: node.SchedulingConfig{MachineCapacity: of("1Gi")}}, "1073741824", 500},
		{node.Config{Scheduling: node.SchedulingConfig{MachineCapacity: of("1Gi"), Capacity: of("2Gi"), Reserved: of("1Mi")}}, "2146435072", 750},
		{node.Config{Scheduling: node.SchedulingConfig{MachineCapacity: of("1Gi")}, Eviction: evictionConfig(t, newLowMemory(true))}, "966367640", 500},
	} {
		synctest.Test(t, func(t *testing.T) {
			machine := &createRecorder{Runtime: memory.New(memory.Config{})}
			c.config.Runtime = machine
			n := runConfig(t, c.config)
			p := newPod("a", "serve")
			own := &p.Spec.Containers[0]
			own.Resources.Requests = of("512Mi")
			own.Env = []v1.EnvVar{{Name: "GOMEMLIMIT", ValueFrom: &v1.EnvVarSource{ResourceFieldRef: &v1.ResourceFieldSelector{Resource: "limits.memory"}}}}
			require.NoError(t, n.Apply(p))
			time.Sleep(time.Second)
			synctest.Wait()
			require.Len(t, machine.containers, 1)
			assert.Equal(t, []runtime.EnvVar{{Name: "GOMEMLIMIT", Value: c.told}}, machine.containers[0].Env)
			assert.Equal(t, c.score, machine.containers[0].Resources.OOMScoreAdj)
		})
	}
}

// TestNode_CG19_ThresholdsAboveCapacity: New refuses a hard threshold that is not below the capacity without Reserved,
// or not below the memory of the machine. It also refuses a percentage of the capacity that leaves pods nothing together
// with Reserved.
func TestNode_CG19_ThresholdsAboveCapacity(t *testing.T) {
	thresholds, err := eviction.Settings{Hard: map[string]string{"memory.available": "100Mi"}}.Thresholds()
	require.NoError(t, err)
	of := func(memory string) v1.ResourceList {
		return v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory)}
	}
	evictions := node.EvictionConfig{Signals: newLowMemory(true), Policy: eviction.Policy{Thresholds: thresholds}}
	percentage, err := eviction.Settings{Hard: map[string]string{"memory.available": "20%"}}.Thresholds()
	require.NoError(t, err)
	percentages := node.EvictionConfig{Signals: newLowMemory(true), Policy: eviction.Policy{Thresholds: percentage}}
	const only = "node: Config.Eviction.Policy: eviction: the hard threshold of memory.available is 100Mi, and pods have a capacity of only "
	for _, c := range []struct {
		config node.Config
		want   string
	}{
		{node.Config{Eviction: evictions, Scheduling: node.SchedulingConfig{Capacity: of("50Mi")}}, only + "50Mi of memory"},
		{node.Config{Eviction: evictions, Scheduling: node.SchedulingConfig{Capacity: of("300Mi"), Reserved: of("250Mi")}}, only + "50Mi of memory"},
		{node.Config{Eviction: evictions, Scheduling: node.SchedulingConfig{Capacity: of("300Mi"), MachineCapacity: of("64Mi")}}, only + "64Mi of memory"},
		{node.Config{Eviction: evictions, Scheduling: node.SchedulingConfig{Capacity: of("300Mi"), Reserved: of("100Mi")}}, ""},
		{node.Config{Eviction: percentages, Scheduling: node.SchedulingConfig{Capacity: of("300Mi"), Reserved: of("250Mi")}},
			"node: Config.Scheduling.Reserved: memory: 250Mi are reserved and a hard eviction threshold keeps 60Mi free, which leaves pods nothing of 300Mi; lower one of them"},
		{node.Config{Eviction: percentages, Scheduling: node.SchedulingConfig{Capacity: of("300Mi"), Reserved: of("240Mi")}}, "keeps 60Mi free, which leaves pods nothing of 300Mi"},
		{node.Config{Eviction: percentages, Scheduling: node.SchedulingConfig{Capacity: of("300Mi"), Reserved: of("239Mi")}}, ""},
		{node.Config{Eviction: node.EvictionConfig{Policy: percentages.Policy}, Scheduling: node.SchedulingConfig{Capacity: of("300Mi"), Reserved: of("250Mi")}}, ""},
		{node.Config{Eviction: node.EvictionConfig{Policy: evictions.Policy}, Scheduling: node.SchedulingConfig{Capacity: of("50Mi")}}, ""},
	} {
		c.config.Runtime = memory.New(memory.Config{})
		_, err := node.New(c.config)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
}
