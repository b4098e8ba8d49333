package eviction

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Rank returns the indexes of the pods in the order in which they are evicted for a signal, critical pods
// included. The order is total: it depends only on the pods and not on their order in the list. Pods whose usage
// is unknown come first, then:
//
//	memory      usage above the request first, lower priority, more usage above the request
//	process IDs lower priority, more processes
//	disk        as memory; inodes have no request
//
// At last namespace, name and UID decide.
func Rank(s Signal, layout Layout, pods []Pod) []int {
	ranks := make([]rank, len(pods))
	order := make([]int, len(pods))
	for i := range pods {
		ranks[i], order[i] = evictionRank(s, layout, &pods[i]), i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(ranks[a].compareByEvictionOrder(ranks[b]), comparePodNames(&pods[a], &pods[b]))
	})
	return order
}

// rank is the place of a pod among the candidates. The smaller one is evicted first.
type rank struct {
	class    int // 0: usage unknown, 1: above the request, 2: not above the request
	priority int32
	unknown  bool
	excess   int64 // usage above the request; negative below it
}

// compareByEvictionOrder compares two ranks by class, priority, whether the usage is unknown, and the usage
// above the request. The result is negative if r is evicted first.
func (r rank) compareByEvictionOrder(other rank) int {
	known := func(unknown bool) int {
		if unknown {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(r.class, other.class), cmp.Compare(r.priority, other.priority),
		cmp.Compare(known(r.unknown), known(other.unknown)), cmp.Compare(other.excess, r.excess))
}

// evictionRank returns the rank of a pod for a signal, which decides the order of eviction. Pods without
// measured usage come first, then pods that use more than they request, then all others. For processes this
// class is the same for all pods. Within a class the rank compares the priority and then the usage above the
// request.
func evictionRank(s Signal, layout Layout, p *Pod) rank {
	r := rank{priority: p.priority, unknown: !p.Usage.Measured}
	resource := s.Resource()
	if s.Condition() == v1.NodeDiskPressure && p.Usage.StorageIncomplete {
		r.unknown = true
	}
	if resource == ResourcePIDs {
		r.excess = sumFigures(p.Usage.Processes)
		return r
	}
	switch resource {
	case v1.ResourceMemory:
		r.excess = sumFigures(p.Usage.MemoryBytes) - p.memoryRequest
	case v1.ResourceEphemeralStorage:
		r.excess = p.diskUsage(diskPartsOf(s, layout), false) - p.storageRequest
	case ResourceInodes:
		r.excess = p.diskUsage(diskPartsOf(s, layout), true)
	}
	switch {
	case r.unknown:
		r.class = 0
	case r.excess > 0:
		r.class = 1
	default:
		r.class = 2
	}
	return r
}
