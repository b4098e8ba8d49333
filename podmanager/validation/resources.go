package validation

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resources checks quantities: not negative, requests within limits, and whole
// numbers of what comes in pieces.
func (f *findings) resources(r *v1.ResourceRequirements, at *field.Path) {
	f.quantities(r.Limits, at.Child("limits"))
	f.quantities(r.Requests, at.Child("requests"))
	for _, name := range sortedKeys(r.Requests) {
		request := r.Requests[name]
		limit, ok := r.Limits[name]
		g, at := f.ifRead(at.Child("limits").Key(string(name))), at.Child("requests").Key(string(name))
		if !ok {
			if !native(name) {
				g.invalid(at, &request, "expected a limit of the same amount")
			}
		} else if request.Cmp(limit) > 0 {
			g.invalid(at, &request, "expected at most the limit, %s", limit.String())
		} else if (!native(name) || hugePages(name)) && request.Cmp(limit) != 0 {
			g.invalid(at, &request, "expected the same as the limit, %s", limit.String())
		}
	}
}

func (f *findings) quantities(list v1.ResourceList, at *field.Path) {
	for _, name := range sortedKeys(list) {
		quantity, at := list[name], at.Key(string(name))
		f.keeps(at, string(name), qualifiedName)
		if native(name) && !hugePages(name) && name != v1.ResourceCPU && name != v1.ResourceMemory && name != v1.ResourceEphemeralStorage {
			f.whole(field.ErrorTypeNotSupported, at, "unknown resource: expected cpu, memory, ephemeral-storage, hugepages-... or a name with a domain")
		}
		if quantity.Sign() < 0 {
			f.invalid(at, &quantity, "expected zero or more")
		}
		if whole := quantity.DeepCopy(); name != v1.ResourceCPU && !whole.RoundUp(0) {
			f.invalid(at, &quantity, "expected a whole number")
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
