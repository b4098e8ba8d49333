package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/validation"
)

// ErrInvalid is returned by a Handle for an invalid pod.
var ErrInvalid = errors.New("source: invalid pod")

// HandleConfig configures a Handle. The zero value is valid.
type HandleConfig struct {
	// Incomplete: until SetComplete is called, pods that were not applied may still be desired.
	Incomplete bool
	// Guarded is set in every Snapshot.
	Guarded bool
	// NodeName is set in pods without a node name.
	NodeName string
	// Owned: the caller gives each pod to the handle, and the pod is not copied. The handle and the
	// Mux set its namespace and its annotations for source and first-seen time, and no defaults.
	// The caller must not modify the pod afterwards.
	Owned bool
}

// Handle is a Source whose pods a host program sets by calls. Its methods are safe for concurrent
// use, never block, and may be called before Run. Run delivers, at once, all pods that were applied
// before, so the source counts as seen even without pods.
//
// The cost of Apply and Delete does not depend on the number of pods if the Sink is a ChangeSink.
// The sink of a Mux is one.
type Handle struct {
	guarded, owned bool
	nodeName       string

	mu struct {
		sync.Mutex
		incomplete bool

		pods   appliedPods
		sink   Sink       // nil before Run
		single ChangeSink // sink as a ChangeSink; nil: it only takes snapshots
		// handing: a goroutine is delivering. It delivers until nothing is left, which keeps the
		// deliveries in order although the lock is not held.
		handing bool
		whole   bool // a snapshot must be delivered; it includes all changes
		changes []change
	}
}

// change is a pod that was applied. Without a pod it is a UID that was deleted.
type change struct {
	pod *v1.Pod
	uid types.UID
}

// NewHandle returns a handle without pods.
func NewHandle() *Handle { return NewHandleWith(HandleConfig{}) }

// NewHandleWith returns a handle without pods, with a configuration.
func NewHandleWith(config HandleConfig) *Handle {
	h := &Handle{guarded: config.Guarded, owned: config.Owned, nodeName: config.NodeName}
	h.mu.incomplete = config.Incomplete
	h.mu.pods = newAppliedPods(0)
	return h
}

// Apply makes this pod desired. It replaces an earlier pod with the same UID. The pod is copied,
// and unset fields get the defaults of an API server, as in Apply of a node. The pod needs a UID, a
// name, and a full name that no other pod of the handle has. Any error is ErrInvalid.
func (h *Handle) Apply(pod *v1.Pod) error {
	pod, err := h.validateAndCopyUnlessOwned(pod)
	if err != nil {
		return err
	}
	return h.deliverUnlockedUnlessUpdateFails(func() error {
		if err := h.mu.pods.setUnlessNameTaken(pod); err != nil {
			return err
		}
		h.addPendingChangeOrSnapshotLocked(change{pod: pod})
		return nil
	})
}

// Delete removes the pod with this UID from the desired pods. It does nothing if there is none.
func (h *Handle) Delete(uid types.UID) {
	_ = h.deliverUnlockedUnlessUpdateFails(func() error {
		if h.mu.pods.delete(uid) {
			h.addPendingChangeOrSnapshotLocked(change{uid: uid})
		}
		return nil
	})
}

// Replace makes exactly these pods desired. If any of them is invalid, the error names every fault
// and nothing changes.
func (h *Handle) Replace(pods []*v1.Pod) error {
	next, err := h.validateAndCopyAll(pods)
	if err != nil {
		return err
	}
	return h.deliverUnlockedUnlessUpdateFails(func() error {
		h.mu.pods = next
		h.requestSnapshotLocked()
		return nil
	})
}

// SetComplete ends HandleConfig.Incomplete: from now on pods that were not applied are not desired.
// Later calls do nothing.
func (h *Handle) SetComplete() {
	_ = h.deliverUnlockedUnlessUpdateFails(func() error {
		if h.mu.incomplete {
			h.mu.incomplete = false
			h.requestSnapshotLocked()
		}
		return nil
	})
}

// Run implements Source. It returns at once: a handle needs no goroutine, because the other methods
// deliver the changes.
func (h *Handle) Run(_ context.Context, sink Sink) error {
	return h.deliverUnlockedUnlessUpdateFails(func() error {
		h.mu.sink = sink
		h.mu.single, _ = sink.(ChangeSink)
		h.requestSnapshotLocked()
		return nil
	})
}

// deliverUnlockedUnlessUpdateFails calls update under the lock. If update returns an error, it returns that
// error and delivers nothing. If update returns nil, it delivers the pending changes to the sink without the
// lock, and returns nil.
func (h *Handle) deliverUnlockedUnlessUpdateFails(update func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := update(); err != nil {
		return err
	}
	h.deliverUnlocking()
	return nil
}

// requestSnapshotLocked requests the delivery of all pods as one snapshot. It drops the pending single changes,
// which the snapshot includes.
func (h *Handle) requestSnapshotLocked() { h.mu.whole, h.mu.changes = true, nil }

// addPendingChangeOrSnapshotLocked stores a change for delivery. If the sink accepts no single changes, it
// requests a snapshot instead. If a snapshot is pending already, it stores nothing, because the snapshot
// includes the change.
func (h *Handle) addPendingChangeOrSnapshotLocked(c change) {
	switch {
	case h.mu.single == nil:
		h.mu.whole = true
	case !h.mu.whole:
		h.mu.changes = append(h.mu.changes, c)
	}
}

// deliverUnlocking delivers everything that is pending to the sink. It is called with the lock and releases it
// during each call of the sink. It does nothing if no sink is set or another goroutine is delivering.
func (h *Handle) deliverUnlocking() {
	if h.mu.sink == nil || h.mu.handing {
		return
	}
	h.mu.handing = true
	defer func() { h.mu.handing = false }()
	for h.mu.whole || len(h.mu.changes) > 0 {
		h.callUnlocked(h.takeNextDeliveryLocked())
	}
}

// callUnlocked releases the lock, calls deliver and acquires the lock again. If deliver panics, it requests a
// snapshot, because the sink may have accepted only some of the changes.
func (h *Handle) callUnlocked(deliver func()) {
	delivered := false
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		if !delivered {
			h.requestSnapshotLocked()
		}
	}()
	deliver()
	delivered = true
}

// takeNextDeliveryLocked removes the next pending delivery (a snapshot, or else all pending changes) and
// returns a function that passes it to the sink. The caller calls that function without the lock.
func (h *Handle) takeNextDeliveryLocked() (deliver func()) {
	if h.mu.whole {
		h.mu.whole = false
		sink, s := h.mu.sink, Snapshot{Pods: h.mu.pods.podsInOrderOfAddition(), Incomplete: h.mu.incomplete, Guarded: h.guarded}
		if in, ok := sink.(*inbox); ok {
			return func() { in.setSnapshotAndWake(s, true) } // The handle owns the pods.
		}
		return func() { sink.Set(s) }
	}
	sink, changes := h.mu.single, h.mu.changes
	h.mu.changes = nil
	return func() {
		for _, c := range changes {
			if c.pod != nil {
				sink.Apply(c.pod)
			} else {
				sink.Delete(c.uid)
			}
		}
	}
}

// validateAndCopyUnlessOwned returns an error if a pod is nil or lacks a name or UID. For a valid pod it
// returns a copy with an API server's defaults and the node's name. If the handle owns its pods, it returns the
// pod itself, with only the default namespace set.
func (h *Handle) validateAndCopyUnlessOwned(pod *v1.Pod) (*v1.Pod, error) {
	switch {
	case pod == nil:
		return nil, fmt.Errorf("%w: nil", ErrInvalid)
	case pod.Name == "":
		return nil, fmt.Errorf("%w: the pod of UID %q has no name", ErrInvalid, pod.UID)
	case pod.UID == "":
		return nil, fmt.Errorf("%w: pod %q has no UID", ErrInvalid, pod.Name)
	}
	if h.owned {
		pod.Namespace = cmp.Or(pod.Namespace, v1.NamespaceDefault)
		return pod, nil
	}
	pod = pod.DeepCopy()
	validation.Default(pod)
	pod.Spec.NodeName = cmp.Or(pod.Spec.NodeName, h.nodeName)
	return pod, nil
}
