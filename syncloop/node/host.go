package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/validation"
)

// Apply makes this pod desired on the node, in place of an earlier one of its UID. The
// pod is copied, and what it leaves out is filled in as the API server would, the node's
// name included. It needs a UID and a name; the error, which is source.ErrInvalid, names
// everything that is wrong with it (each fault is a *field.Error of apimachinery), and
// nothing has changed then; ErrStopped says that
// Run has ended, ErrJoined that pods come from an API server. A pod with a deletion timestamp is no longer desired, but still shown
// until it has ended. Apply never blocks, and may be called before Run and from
// anywhere.
//
// Each Apply and Delete takes time in proportion to the number of pods; use Replace for
// thousands at once.
func (n *Node) Apply(pod *v1.Pod) error {
	pod, err := n.prepare(pod)
	if err != nil {
		return err
	}
	return n.host.Apply(pod)
}

// Replace makes exactly these pods desired, in place of all that were applied before. It
// is Apply for many: if anything is wrong with one of them nothing has changed.
func (n *Node) Replace(pods []*v1.Pod) error {
	if n.config.joined() {
		return ErrJoined
	}
	var errs []error
	prepared := make([]*v1.Pod, len(pods))
	for i, pod := range pods {
		var err error
		prepared[i], err = n.prepare(pod)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return n.host.Replace(prepared)
}

// prepare is a copy of a pod with its defaults, if it can be run at all.
func (n *Node) prepare(pod *v1.Pod) (*v1.Pod, error) {
	switch {
	case n.config.joined():
		return nil, ErrJoined
	case n.done.Opened():
		return nil, ErrStopped
	}
	if pod == nil || pod.UID == "" {
		return pod, nil // The source says what is missing.
	}
	pod = pod.DeepCopy()
	validation.Default(pod)
	pod.Spec.NodeName = cmp.Or(pod.Spec.NodeName, n.config.Name)
	if err := validate(pod); err != nil {
		return nil, fmt.Errorf("node: %w: %s/%s: %w", source.ErrInvalid, pod.Namespace, pod.Name, err)
	}
	return pod, nil
}

// invalidPod is everything that is wrong with a pod, as an error. It wraps each
// *field.Error.
type invalidPod field.ErrorList

// validate is nil for a pod that can be run.
func validate(pod *v1.Pod) error {
	if errs := validation.Validate(pod); len(errs) > 0 {
		return invalidPod(errs)
	}
	return nil
}

// Error has a line for each fault.
func (e invalidPod) Error() string { return plain.Fields(field.ErrorList(e)) }

// Unwrap makes errors.As find the first *field.Error.
func (e invalidPod) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}

// Delete removes the pod of this UID from the desired pods: it is ended with its grace, and
// then forgotten. Deleting an unknown pod does nothing. Delete never blocks, and
// may be called before Run and from anywhere.
func (n *Node) Delete(uid types.UID) { n.host.Delete(uid) }

// SetComplete says, on a node with Config.AwaitHost, that everything that is
// wanted has been applied by now: what runs beside it may be ended. Later calls
// do nothing.
func (n *Node) SetComplete() { n.held.release() }

// held passes on another source, whose snapshots count as incomplete until it
// is released. Like source.Handle it hands over one snapshot at a time, the
// newest last, so that a release beside an Apply brings back nothing older.
type held struct {
	source.Source
	guarded bool
	mu      struct {
		sync.Mutex
		released bool
		sink     source.Sink
		heard    bool // the source has said something: last counts
		last     source.Snapshot
		// handing: a goroutine is handing over; changed: it must do so again.
		handing, changed bool
	}
}

func hold(s source.Source, released, guarded bool) *held {
	h := &held{Source: s, guarded: guarded}
	h.mu.released = released
	return h
}

// Run implements source.Source.
func (h *held) Run(ctx context.Context, sink source.Sink) error {
	h.mu.Lock()
	h.mu.sink = sink
	h.mu.Unlock()
	return h.Source.Run(ctx, h)
}

// Set implements source.Sink.
func (h *held) Set(s source.Snapshot) {
	h.mu.Lock()
	h.mu.last, h.mu.heard = s, true
	h.mu.Unlock()
	h.handOver()
}

func (h *held) release() {
	h.mu.Lock()
	again := !h.mu.released
	h.mu.released = true
	h.mu.Unlock()
	if again {
		h.handOver()
	}
}

// handOver gives the sink the newest snapshot, or leaves that to the goroutine
// that is doing it already. A source that has said nothing yet has not said
// that it wants nothing.
func (h *held) handOver() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.changed = h.mu.heard
	if h.mu.handing {
		return
	}
	h.mu.handing = true
	for h.mu.changed {
		h.mu.changed = false
		sink, s := h.mu.sink, h.mu.last
		s.Incomplete, s.Guarded = s.Incomplete || !h.mu.released, h.guarded
		h.mu.Unlock()
		sink.Set(s)
		h.mu.Lock()
	}
	h.mu.handing = false
}
