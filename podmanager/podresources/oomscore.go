package podresources

import (
	"math"
	"math/bits"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// The OOM score adjustments. The kernel kills processes with a high score first.
const (
	oomScoreGuaranteed = -997
	oomScoreBestEffort = 1000
	minBurstableScore  = oomScoreBestEffort + oomScoreGuaranteed
	maxBurstableScore  = oomScoreBestEffort - 1
)

// OOMScoreAdj returns the oom_score_adj of a container of the pod, on a node with the given bytes of memory. A container
// of a critical pod with the priority class system-node-critical and a Guaranteed container have -997. A BestEffort
// container has 1000. A Burstable container has between 3 and 999, less if it requests a larger part of the memory. A
// sidecar never has a higher score than the regular container that requests the least. If nodeMemory is 0, a
// Burstable container has 999.
func OOMScoreAdj(pod *v1.Pod, c *v1.Container, nodeMemory uint64) int {
	if podspec.IsNodeCritical(pod) {
		return oomScoreGuaranteed
	}
	switch podspec.QOSClass(pod) {
	case v1.PodQOSGuaranteed:
		return oomScoreGuaranteed
	case v1.PodQOSBestEffort:
		return oomScoreBestEffort
	}
	request, rest := memoryRequest(c), podMemoryShare(pod)
	score := burstableScore(request, rest, nodeMemory)
	if podspec.IsSidecar(c) {
		score = min(score, burstableScore(minMemoryRequest(pod), rest, nodeMemory))
	}
	return min(max(score, minBurstableScore), maxBurstableScore)
}

// burstableScore returns 1000 minus the thousandths of the node's memory that request and rest are, rounded down, or
// 0 if they are more than the memory of the node. For a node without memory it returns 1000.
func burstableScore(request, rest, nodeMemory uint64) int {
	if nodeMemory == 0 {
		return oomScoreBestEffort
	}
	requested, overflow := bits.Add64(request, rest, 0)
	if overflow != 0 || requested >= nodeMemory {
		return 0
	}
	high, low := bits.Mul64(requested, oomScoreBestEffort)
	thousandths, _ := bits.Div64(high, low, nodeMemory) // requested < nodeMemory, so the result is less than 1000.
	return oomScoreBestEffort - int(thousandths)
}

// memoryRequest returns the memory request of a container in bytes, or 0 if it has none. A missing request is the
// limit.
func memoryRequest(c *v1.Container) uint64 {
	q, ok := c.Resources.Requests[v1.ResourceMemory]
	if !ok {
		q = c.Resources.Limits[v1.ResourceMemory]
	}
	return uint64(max(q.Value(), 0))
}

// podMemoryShare returns one container's equal share of the memory that the pod requests beyond the requests of its
// containers. Regular containers and all init containers have a share. It returns 0 if spec.resources of the pod has
// no requests.
func podMemoryShare(pod *v1.Pod) uint64 {
	if pod.Spec.Resources == nil || len(pod.Spec.Resources.Requests) == 0 {
		return 0
	}
	ofPod := max(pod.Spec.Resources.Requests.Memory().Value(), 0)
	ofContainers, _ := podspec.SumResources(&pod.Spec)
	rest := ofPod - max(ofContainers.Memory().Value(), 0)
	n := len(pod.Spec.Containers) + len(pod.Spec.InitContainers)
	return uint64(max(rest, 0)) / uint64(max(n, 1))
}

// minMemoryRequest returns the smallest memory request of the regular containers, or 0 if the pod has none.
func minMemoryRequest(pod *v1.Pod) uint64 {
	least := uint64(math.MaxUint64)
	for i := range pod.Spec.Containers {
		least = min(least, memoryRequest(&pod.Spec.Containers[i]))
	}
	if len(pod.Spec.Containers) == 0 {
		return 0
	}
	return least
}
