package podsync_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
)

// cpuAndMemory are requirements, "" being nothing.
func cpuAndMemory(cpuRequest, memoryRequest, cpuLimit, memoryLimit string) v1.ResourceRequirements {
	list := func(cpu, memory string) v1.ResourceList {
		l := v1.ResourceList{}
		if cpu != "" {
			l[v1.ResourceCPU] = resource.MustParse(cpu)
		}
		if memory != "" {
			l[v1.ResourceMemory] = resource.MustParse(memory)
		}
		return l
	}
	return v1.ResourceRequirements{Requests: list(cpuRequest, memoryRequest), Limits: list(cpuLimit, memoryLimit)}
}

// TestPodResources checks the resources in the requests of a sandbox and its only container.
func TestPodResources(t *testing.T) {
	const gi, frame = 1 << 30, 100 * time.Millisecond
	for name, test := range map[string]struct {
		container      v1.ResourceRequirements
		whole          *v1.ResourceRequirements
		overhead       v1.ResourceList
		sandbox, inner runtime.Resources
	}{
		"nothing asked": {
			sandbox: runtime.Resources{CPUShares: 2},
			inner:   runtime.Resources{CPUShares: 2, OOMScoreAdj: 1000},
		},
		"the containers without the overhead": {
			container: cpuAndMemory("500m", "", "1", "1Gi"),
			overhead:  v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m"), v1.ResourceMemory: resource.MustParse("1Gi")},
			sandbox:   runtime.Resources{CPUShares: 512, CPUPeriod: frame, CPUQuota: frame, MemoryBytes: gi},
			inner:     runtime.Resources{CPUShares: 512, CPUPeriod: frame, CPUQuota: frame, MemoryBytes: gi, OOMScoreAdj: 750},
		},
		"without a limit there is no bound": {
			container: cpuAndMemory("1", "", "", ""),
			overhead:  v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")},
			sandbox:   runtime.Resources{CPUShares: 1024},
			inner:     runtime.Resources{CPUShares: 1024, OOMScoreAdj: 999},
		},
		"the pod as a whole": {
			container: cpuAndMemory("250m", "", "", ""),
			whole:     new(cpuAndMemory("1", "2Gi", "2", "2Gi")),
			sandbox:   runtime.Resources{CPUShares: 1024, CPUPeriod: frame, CPUQuota: 2 * frame, MemoryBytes: 2 * gi},
			inner:     runtime.Resources{CPUShares: 256, CPUPeriod: frame, CPUQuota: 2 * frame, MemoryBytes: 2 * gi, OOMScoreAdj: 500},
		},
		"guaranteed as a whole": {
			container: cpuAndMemory("250m", "", "500m", ""),
			whole:     new(cpuAndMemory("2", "2Gi", "2", "2Gi")),
			sandbox:   runtime.Resources{CPUShares: 2048, CPUPeriod: frame, CPUQuota: 2 * frame, MemoryBytes: 2 * gi},
			inner:     runtime.Resources{CPUShares: 256, CPUPeriod: frame, CPUQuota: frame / 2, MemoryBytes: 2 * gi, OOMScoreAdj: -997},
		},
		"its limits are no requests where containers request": {
			container: cpuAndMemory("250m", "1Gi", "", ""),
			whole:     new(cpuAndMemory("", "", "1", "2Gi")),
			sandbox:   runtime.Resources{CPUShares: 256, CPUPeriod: frame, CPUQuota: frame, MemoryBytes: 2 * gi},
			inner:     runtime.Resources{CPUShares: 256, CPUPeriod: frame, CPUQuota: frame, MemoryBytes: 2 * gi, OOMScoreAdj: 750},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := plainPod(func(p *v1.Pod) {
				p.Spec.Containers[0].Resources = test.container
				p.Spec.Resources, p.Spec.Overhead = test.whole, test.overhead
			})
			seen, err := recordRequests(t, pod, podsync.Config{MemoryBytes: 4 * gi})
			require.NoError(t, err)
			assert.Equal(t, test.sandbox, seen.sandbox.Resources)
			assert.Equal(t, test.inner, seen.container.Resources)
		})
	}
}

// TestResources_OfASidecar: the kernel does not kill it before the containers
// that need it.
func TestResources_OfASidecar(t *testing.T) {
	pod := plainPod(func(p *v1.Pod) {
		p.Spec.InitContainers = []v1.Container{{
			Name: "s", Image: "img:1", RestartPolicy: new(v1.ContainerRestartPolicyAlways), Resources: cpuAndMemory("", "1Gi", "", ""),
		}}
		p.Spec.Containers[0].Resources = cpuAndMemory("", "2Gi", "", "")
	})
	seen, err := recordRequests(t, pod, podsync.Config{MemoryBytes: 4 << 30})
	require.NoError(t, err)
	require.Equal(t, "s", seen.container.Name)
	assert.Equal(t, 500, seen.container.Resources.OOMScoreAdj)
}
