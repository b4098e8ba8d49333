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

// shareKnown replaces the contents of spec by the contents of an equal cached spec. It reports whether there
// is an equal one. Cached specs are valid.
func (t *specCache) shareKnown(spec *v1.PodSpec) bool {
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

// add caches a valid spec in place of the oldest one.
func (t *specCache) add(spec *v1.PodSpec) {
	own := *spec // A copy does not keep the rest of the pod in memory.
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.specs[t.mu.next] = &own
	t.mu.next = (t.mu.next + 1) % len(t.mu.specs)
}
