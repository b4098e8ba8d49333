package node

import (
	"reflect"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// specCache has the last few different valid specs. Pods of one template share the contents of one
// spec, and the spec is validated once. A cached spec must not be modified, nor the spec of a pod that
// shares it.
type specCache struct {
	mu struct {
		sync.Mutex
		specs [4]*v1.PodSpec
		next  int
	}
}

// replaceByEqualCached replaces the contents of spec by an equal cached spec, so that equal pods share memory.
// It changes nothing and returns false if no cached spec is equal. All cached specs have passed validation.
func (t *specCache) replaceByEqualCached(spec *v1.PodSpec) (replaced bool) {
	t.mu.Lock()
	specs := t.mu.specs
	t.mu.Unlock()
	for _, known := range specs {
		if known != nil && reflect.DeepEqual(known, spec) {
			*spec = *known
			return true
		}
	}
	return false
}

// addInPlaceOfOldest caches a copy of a spec that has passed validation, in place of the oldest cached spec.
func (t *specCache) addInPlaceOfOldest(spec *v1.PodSpec) {
	own := *spec // A copy does not keep the rest of the pod in memory.
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.specs[t.mu.next] = &own
	t.mu.next = (t.mu.next + 1) % len(t.mu.specs)
}
