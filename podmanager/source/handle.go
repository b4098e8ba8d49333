package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ErrInvalid is what a Handle answers to a pod it cannot take.
var ErrInvalid = errors.New("source: invalid pod")

// Handle is the source of a host program: pods handed over in Go. Its methods
// are safe for concurrent use, never block, and may be called before Run: what
// was set by then is the first snapshot, which comes at once, so that the
// source counts as seen even without pods.
//
// Each change costs time in proportion to the number of pods; use Replace for
// many at once.
type Handle struct {
	mu struct {
		sync.Mutex
		pods []*v1.Pod // in order of first Apply; the slice is never changed in place
		sink Sink      // nil before Run
		// handing: a goroutine is handing over; changed: it must do so again.
		// Together they keep snapshots in order without a lock held.
		handing, changed bool
	}
}

// NewHandle makes a handle without pods.
func NewHandle() *Handle { return &Handle{} }

// Apply makes this pod desired, in place of an earlier one of its UID. The
// pod is copied. It needs a UID, a name, and a full name no other pod of the
// handle has; an empty namespace becomes "default". Any error is ErrInvalid.
func (h *Handle) Apply(pod *v1.Pod) error {
	pod, err := own(pod)
	if err != nil {
		return err
	}
	h.mu.Lock()
	pods, err := with(h.mu.pods, pod)
	if err == nil {
		h.mu.pods = pods
	}
	h.mu.Unlock()
	if err != nil {
		return err
	}
	h.handOver()
	return nil
}

// Delete removes the pod with this UID from the desired pods. It does nothing if there is none.
func (h *Handle) Delete(uid types.UID) {
	h.mu.Lock()
	i := indexOf(h.mu.pods, uid)
	if i >= 0 {
		h.mu.pods = slices.Delete(slices.Clone(h.mu.pods), i, i+1)
	}
	h.mu.Unlock()
	if i >= 0 {
		h.handOver()
	}
}

// Replace wants exactly these pods. It names every fault and changes nothing if
// there is one.
func (h *Handle) Replace(pods []*v1.Pod) error {
	var faults []error
	next := make([]*v1.Pod, 0, len(pods))
	uids, names := map[types.UID]bool{}, map[types.NamespacedName]bool{}
	for _, pod := range pods {
		pod, err := own(pod)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		if uids[pod.UID] || names[name] {
			faults = append(faults, fmt.Errorf("%w: %s (uid %q) is there twice, by UID or by name", ErrInvalid, name, pod.UID))
		}
		uids[pod.UID], names[name] = true, true
		next = append(next, pod)
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	h.mu.Lock()
	h.mu.pods = next
	h.mu.Unlock()
	h.handOver()
	return nil
}

// Run implements Source. It returns at once: a handle needs no goroutine, since Apply,
// Delete and Replace hand the change over.
func (h *Handle) Run(_ context.Context, sink Sink) error {
	h.mu.Lock()
	h.mu.sink = sink
	h.mu.Unlock()
	h.handOver()
	return nil
}

// handOver gives the sink the newest state, or leaves that to the goroutine
// that is doing it already.
func (h *Handle) handOver() {
	h.mu.Lock()
	h.mu.changed = true
	if h.mu.sink == nil || h.mu.handing {
		h.mu.Unlock()
		return
	}
	h.mu.handing = true
	for h.mu.changed {
		h.mu.changed = false
		sink, pods := h.mu.sink, h.mu.pods
		h.mu.Unlock()
		sink.Set(Snapshot{Pods: pods})
		h.mu.Lock()
	}
	h.mu.handing = false
	h.mu.Unlock()
}

// own checks and copies a pod of the host program.
func own(pod *v1.Pod) (*v1.Pod, error) {
	switch {
	case pod == nil:
		return nil, fmt.Errorf("%w: nil", ErrInvalid)
	case pod.Name == "" || pod.UID == "":
		return nil, fmt.Errorf("%w: name %q and UID %q must not be empty", ErrInvalid, pod.Name, pod.UID)
	}
	pod = pod.DeepCopy()
	pod.Namespace = cmp.Or(pod.Namespace, v1.NamespaceDefault)
	return pod, nil
}

// with is pods with one more or one replaced.
func with(pods []*v1.Pod, pod *v1.Pod) ([]*v1.Pod, error) {
	for _, p := range pods {
		if p.UID != pod.UID && p.Name == pod.Name && p.Namespace == pod.Namespace {
			return nil, fmt.Errorf("%w: %s/%s is the name of another pod (uid %q)", ErrInvalid, p.Namespace, p.Name, p.UID)
		}
	}
	next := slices.Clone(pods)
	if i := indexOf(pods, pod.UID); i >= 0 {
		next[i] = pod
		return next, nil
	}
	return append(next, pod), nil
}

func indexOf(pods []*v1.Pod, uid types.UID) int {
	return slices.IndexFunc(pods, func(p *v1.Pod) bool { return p.UID == uid })
}
