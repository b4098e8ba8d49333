package syncloop

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// deferred has the facts about waiting pods that other goroutines may ask for.
type deferred struct {
	mu struct {
		sync.Mutex
		pods    map[types.UID]Deferral
		evicted map[types.UID]eviction // evictions that the loop has not handled yet
		refused map[types.UID]bool     // the pods that were refused and have no worker
		stopped bool
		recheck bool
	}
}

func (d *deferred) set(uid types.UID, one Deferral) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.pods == nil {
		d.mu.pods = make(map[types.UID]Deferral)
	}
	d.mu.pods[uid] = one
}

// setRefused notes whether a pod was refused and has no worker.
func (d *deferred) setRefused(uid types.UID, refused bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !refused {
		delete(d.mu.refused, uid)
		return
	}
	if d.mu.refused == nil {
		d.mu.refused = make(map[types.UID]bool)
	}
	d.mu.refused[uid] = true
}

// drop removes a pod, and returns its eviction if it was evicted.
func (d *deferred) drop(uid types.UID) (evicted eviction, is bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	evicted, is = d.mu.evicted[uid]
	delete(d.mu.pods, uid)
	delete(d.mu.evicted, uid)
	return evicted, is
}

// evict stores the eviction of a pod that waits, so that the pod does not start. The status of the
// first eviction counts. It reports false if the pod does not wait.
func (d *deferred) evict(uid types.UID, of WaitingEviction) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, waits := d.mu.pods[uid]; !waits || d.mu.stopped {
		return false
	}
	e, before := d.mu.evicted[uid]
	if !before {
		e.first = of
	}
	if of.Ended != nil {
		e.ended = append(e.ended, of.Ended)
	}
	if d.mu.evicted == nil {
		d.mu.evicted = make(map[types.UID]eviction)
	}
	d.mu.evicted[uid] = e
	return true
}

// stop keeps further pods from being evicted, and returns the evictions that the loop has not
// handled.
func (d *deferred) stop() []eviction {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.stopped = true
	left := slices.Collect(maps.Values(d.mu.evicted))
	d.mu.evicted = nil
	return left
}

// evictions returns the evicted pods that wait, in order.
func (d *deferred) evictions() []types.UID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.mu.evicted))
}

// Deferred says whether and for what a pod waits before it can be admitted. It may
// be called from anywhere.
func (h *Handlers) Deferred(uid types.UID) (Deferral, bool) {
	h.deferred.mu.Lock()
	defer h.deferred.mu.Unlock()
	d, ok := h.deferred.mu.pods[uid]
	return d, ok
}

// Refused reports whether a desired pod was refused, so that it has no worker: a worker
// that there is under its UID ends a former incarnation. It may be called from anywhere.
func (h *Handlers) Refused(uid types.UID) bool {
	h.deferred.mu.Lock()
	defer h.deferred.mu.Unlock()
	return h.deferred.mu.refused[uid]
}

// Recheck asks for the admission of all pods that wait: something about the node has
// changed. It never blocks and may be called from anywhere.
func (h *Handlers) Recheck() {
	h.deferred.mu.Lock()
	h.deferred.mu.recheck = true
	h.deferred.mu.Unlock()
	h.wake()
}

// takeRecheck reports whether Recheck was called since the last time.
func (d *deferred) takeRecheck() (is bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	is, d.mu.recheck = d.mu.recheck, false
	return is
}
