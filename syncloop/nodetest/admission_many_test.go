package nodetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/longtest"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestMany_NineThousandManifests run, on a node that has room for them and checks all
// that they take. With a sum over all pods for each it took minutes.
func TestMany_NineThousandManifests(t *testing.T) {
	if raced {
		t.Skip("it takes seconds")
	}
	n := longtest.Count(1000, 9000)
	files := source.NewHandle()
	b := nodetest.New(t, nodetest.Config{Seed: 1, Node: node.Config{
		Scheduling: node.SchedulingConfig{MaxPods: n, Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("9"), v1.ResourceMemory: resource.MustParse("9Gi")}}, Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}},
	}})
	pods := make([]*v1.Pod, n)
	for i := range pods {
		p := newPod(fmt.Sprint("p", i), []string{"serve"})
		p.UID, p.Spec.Containers[0].Image = types.UID(p.Name), "one:1" // Which is pulled once.
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1m")}
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: int32(1000 + i)}}
		pods[i] = p
	}
	require.NoError(t, files.Replace(pods))
	b.Run(time.Second)
	assert.Equal(t, n, runningNow(b))
	b.Stop()
}
