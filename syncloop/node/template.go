package node

import (
	"reflect"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// specs are the last few different specs that were prepared. Pods of one template share
// all that theirs consists of, and it is validated once. A spec must not be modified when it
// is here, nor that of a pod that shares it.
type specCache struct {
	mu struct {
		sync.Mutex
		specs [4]*v1.PodSpec
		next  int
	}
}

// shareKnown puts the parts of a known spec in the place of those of an equal one. It reports
// whether there is one, which is valid.
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

// add keeps a valid spec in place of the oldest one.
func (t *specCache) add(spec *v1.PodSpec) {
	own := *spec // Not the pod, which may go.
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.specs[t.mu.next] = &own
	t.mu.next = (t.mu.next + 1) % len(t.mu.specs)
}
