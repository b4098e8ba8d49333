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

// ErrInvalid is what a Handle answers to a pod it cannot take.
var ErrInvalid = errors.New("source: invalid pod")

// HandleConfig says how the pods of a Handle are handed over. The zero value is complete.
type HandleConfig struct {
	// Incomplete: pods that were not applied may still be desired, until SetComplete is called.
	Incomplete bool
	// Guarded is Snapshot.Guarded of every snapshot.
	Guarded bool
	// NodeName is the node's name for pods that have none.
	NodeName string
	// Owned: the caller gives up each pod that it hands over, and the pod is not copied. The handle
	// and the Mux set its namespace and its annotations for source and first-seen time, and no
	// defaults. From then on the pod must not be modified.
	Owned bool
}

// Handle is a Source whose pods a host program hands over by calls. Its methods are safe for
// concurrent use, never block, and may be called before Run. Run hands over, at once, all pods that
// were applied before, so the source counts as seen even if there are none.
//
// Apply and Delete cost the same however many pods there are, if the Sink is a ChangeSink, as that
// of a Mux is.
type Handle struct {
	guarded, owned bool
	nodeName       string

	mu struct {
		sync.Mutex
		incomplete bool

		pods   applied
		sink   Sink       // nil before Run
		single ChangeSink // the sink; nil: it takes snapshots only
		// handing: a goroutine is handing over. It takes what is to be handed over until
		// nothing is left, which keeps that in order without a lock held.
		handing bool
		whole   bool // hand over a snapshot, which is all that there is by then
		changes []change
	}
}

// change is a pod that was applied, or, without a pod, a UID that was deleted.
type change struct {
	pod *v1.Pod
	uid types.UID
}

// NewHandle makes a handle without pods.
func NewHandle() *Handle { return NewHandleWith(HandleConfig{}) }

// NewHandleWith makes a handle without pods, with a configuration.
func NewHandleWith(config HandleConfig) *Handle {
	h := &Handle{guarded: config.Guarded, owned: config.Owned, nodeName: config.NodeName}
	h.mu.incomplete = config.Incomplete
	h.mu.pods = newApplied(0)
	return h
}

// Apply makes this pod desired, in place of an earlier one of its UID. The pod is copied, and fields that
// are not set get the defaults of an API server, as in Apply of a node. The pod needs a UID, a name, and a
// full name that no other pod of the handle has. Any error is ErrInvalid.
func (h *Handle) Apply(pod *v1.Pod) error {
	pod, err := h.own(pod)
	if err != nil {
		return err
	}
	return h.do(func() error {
		if err := h.mu.pods.put(pod); err != nil {
			return err
		}
		h.noteLocked(change{pod: pod})
		return nil
	})
}

// Delete removes the pod with this UID from the desired pods. It does nothing if there is none.
func (h *Handle) Delete(uid types.UID) {
	_ = h.do(func() error {
		if h.mu.pods.remove(uid) {
			h.noteLocked(change{uid: uid})
		}
		return nil
	})
}

// Replace makes exactly these pods desired. If any of them is invalid, the error names every fault
// and nothing changes.
func (h *Handle) Replace(pods []*v1.Pod) error {
	next, err := h.allOf(pods)
	if err != nil {
		return err
	}
	return h.do(func() error {
		h.mu.pods = next
		h.wholeLocked()
		return nil
	})
}

// SetComplete says, after HandleConfig.Incomplete, that pods which were not applied are not
// desired. Later calls do nothing.
func (h *Handle) SetComplete() {
	_ = h.do(func() error {
		if h.mu.incomplete {
			h.mu.incomplete = false
			h.wholeLocked()
		}
		return nil
	})
}

// Run implements Source. It returns at once: a handle needs no goroutine, since the other
// methods hand the change over.
func (h *Handle) Run(_ context.Context, sink Sink) error {
	return h.do(func() error {
		h.mu.sink = sink
		h.mu.single, _ = sink.(ChangeSink)
		h.wholeLocked()
		return nil
	})
}

// do changes something under the lock, and hands over what is new.
func (h *Handle) do(something func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := something(); err != nil {
		return err
	}
	h.handOverLocked()
	return nil
}

// wholeLocked has a snapshot handed over, and no change that is in it.
func (h *Handle) wholeLocked() { h.mu.whole, h.mu.changes = true, nil }

// noteLocked has a change handed over, as one or in a snapshot.
func (h *Handle) noteLocked(c change) {
	switch {
	case h.mu.single == nil:
		h.mu.whole = true
	case !h.mu.whole:
		h.mu.changes = append(h.mu.changes, c)
	}
}

// handOverLocked gives the sink all that is new, or leaves that to the goroutine that is
// doing it already. The lock is released for each call of the sink.
func (h *Handle) handOverLocked() {
	if h.mu.sink == nil || h.mu.handing {
		return
	}
	h.mu.handing = true
	defer func() { h.mu.handing = false }()
	for h.mu.whole || len(h.mu.changes) > 0 {
		h.unlocked(h.takeLocked())
	}
}

// unlocked calls give without the lock. If the sink panics it is given everything next time,
// as it is unknown what it has taken.
func (h *Handle) unlocked(give func()) {
	given := false
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		if !given {
			h.wholeLocked()
		}
	}()
	give()
	given = true
}

// takeLocked takes out what is to be handed over next, and returns what does it.
func (h *Handle) takeLocked() (give func()) {
	if h.mu.whole {
		h.mu.whole = false
		sink, s := h.mu.sink, Snapshot{Pods: h.mu.pods.list(), Incomplete: h.mu.incomplete, Guarded: h.guarded}
		if in, ok := sink.(*inbox); ok {
			return func() { in.set(s, true) } // Its pods are copies, or were given up.
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

// own checks a pod of the host program, and copies it unless it is the handle's already.
func (h *Handle) own(pod *v1.Pod) (*v1.Pod, error) {
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
