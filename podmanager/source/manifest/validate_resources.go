package manifest

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/document"
)

// resources checks quantities: not negative, requests within limits, and whole
// numbers of what comes in pieces.
func (f *findings) resources(r *v1.ResourceRequirements, at *document.Path) {
	f.quantities(r.Limits, at.Field("limits"))
	f.quantities(r.Requests, at.Field("requests"))
	for _, name := range sortedKeys(r.Requests) {
		request := r.Requests[name]
		limit, ok := r.Limits[name]
		needs := []*document.Path{at.Field("limits").Entry(string(name))}
		switch at := at.Field("requests").Entry(string(name)); {
		case ok && request.Cmp(limit) > 0:
			f.addFor(needs, at, "%s: expected at most the limit, %s", request.String(), limit.String())
		case !ok && !native(name):
			f.addFor(needs, at, "%s: expected a limit of the same amount", request.String())
		case ok && (!native(name) || hugePages(name)) && request.Cmp(limit) != 0:
			f.addFor(needs, at, "%s: expected the same as the limit, %s", request.String(), limit.String())
		}
	}
}

func (f *findings) quantities(list v1.ResourceList, at *document.Path) {
	for _, name := range sortedKeys(list) {
		quantity, at := list[name], at.Entry(string(name))
		f.keeps(at, string(name), qualifiedName)
		if native(name) && !hugePages(name) && name != v1.ResourceCPU && name != v1.ResourceMemory && name != v1.ResourceEphemeralStorage {
			f.add(at, "unknown resource: expected cpu, memory, ephemeral-storage, hugepages-... or a name with a domain")
		}
		if quantity.Sign() < 0 {
			f.add(at, "%s: expected zero or more", quantity.String())
		}
		if whole := quantity.DeepCopy(); name != v1.ResourceCPU && !whole.RoundUp(0) {
			f.add(at, "%s: expected a whole number", quantity.String())
		}
	}
}

// native: a resource of the node itself, not one that somebody's plugin counts.
func native(name v1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), "kubernetes.io/")
}

func hugePages(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}
