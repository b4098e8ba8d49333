package node

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/syncloop"
)

// Apply makes this pod desired on the node, in place of an earlier one of its UID. The pod is
// copied, and fields that are not set get the defaults of an API server, and the node's name. It
// needs a name. A pod without a UID gets that of UIDFromName, so that a later Apply of the same name updates
// the same pod, also in another process. A pod with a deletion timestamp is no longer desired, but shown until it
// has ended. The conditions of its readiness gates are those in its status: Apply it again to
// change them.
//
// After an error nothing has changed. It wraps source.ErrInvalid and names everything that is wrong
// with the pod, each fault as a *field.Error of apimachinery (validation.Validate). A pod that the
// node knows, and any pod before the node is ready, is refused only for what the node cannot run
// (validation.ValidateAccepted), so that new rules stop no pod of an earlier process. The error is
// ErrStopped if Run has ended, and ErrJoined if the pods come from an API server.
//
// Apply never blocks, and may be called before Run and from anywhere. The cost of an Apply, and of
// a Delete, does not depend on the number of pods.
func (n *Node) Apply(pod *v1.Pod) error { return n.host.apply(pod) }

// Replace makes exactly these pods desired, in place of all that were applied before. If one of
// them is invalid, nothing changes and the error is that of Apply.
func (n *Node) Replace(pods []*v1.Pod) error { return n.host.replace(pods) }

// Delete removes the pod of this UID from the desired pods: it is ended with its grace, and
// then forgotten. Deleting an unknown pod does nothing. Delete never blocks, and
// may be called before Run and from anywhere.
func (n *Node) Delete(uid types.UID) { n.host.delete(uid) }

// SetComplete says, on a node with Config.Pods.AwaitHost, that the host program has applied all of its
// pods. From then on the node may end other pods that run. Later calls do nothing.
func (n *Node) SetComplete() { n.host.handle.SetComplete() }

// hostPods are the pods that the host program applies.
type hostPods struct {
	config   *Config
	handle   *source.Handle
	manager  *podmanager.Store
	handlers *syncloop.Handlers
	ready    executor.Latch
	done     executor.Latch
	specs    specCache
}

func (h *hostPods) apply(pod *v1.Pod) error {
	pod, err := h.preparePod(pod)
	if err != nil {
		return err
	}
	added := h.assumePods(pod)
	if err := h.handle.Apply(pod); err != nil {
		h.handlers.Unassume(added...)
		return err
	}
	return nil
}

func (h *hostPods) replace(pods []*v1.Pod) error {
	if h.config.hasAPIServerSource() {
		return ErrJoined
	}
	var errs []error
	prepared := make([]*v1.Pod, len(pods))
	for i, pod := range pods {
		var err error
		prepared[i], err = h.preparePod(pod)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	added := h.assumePods(prepared...)
	if err := h.handle.Replace(prepared); err != nil {
		h.handlers.Unassume(added...)
		return err
	}
	h.unassumeOthers(prepared)
	return nil
}

func (h *hostPods) delete(uid types.UID) {
	if pod, known := h.manager.GetPodByUID(uid); known && !h.config.hasAPIServerSource() && !podmanager.IsStaticPod(pod) {
		h.handlers.AssumeTerminating(uid) // A static pod is of another source.
	}
	h.handle.Delete(uid)
	h.handlers.Unassume(uid)
}

// preparePod is a copy of a pod with its defaults, if it can be run at all. This is the only copy
// of what a host program applies: the handle owns it, and all parts of the node share it. It
// must not be modified after it has been handed over.
func (h *hostPods) preparePod(pod *v1.Pod) (*v1.Pod, error) {
	switch {
	case h.config.hasAPIServerSource():
		return nil, ErrJoined
	case h.done.Opened():
		return nil, ErrStopped
	}
	if pod == nil {
		return nil, nil // The source returns the error.
	}
	pod = pod.DeepCopy()
	h.setDefaults(pod)
	known := h.specs.shareKnown(&pod.Spec)
	check := validation.Validate
	if known {
		check = validation.ValidateMetadata
	}
	switch faults := append(check(pod), validation.ValidateNotMirror(pod)...); {
	case len(faults) == 0:
		if !known {
			h.specs.add(&pod.Spec)
		}
	case h.mayHaveAccepted(pod):
		h.config.Log.Warn("a new pod like this one is refused; it goes on, as the node may have accepted it before",
			"pod", pod.Namespace+"/"+pod.Name, "uid", pod.UID, "err", invalidPod(faults))
	default:
		return nil, fmt.Errorf("node: %w: %s/%s: %w", source.ErrInvalid, pod.Namespace, pod.Name, invalidPod(faults))
	}
	return pod, nil
}

// mayHaveAccepted reports whether the node has accepted a pod before, or whether an earlier process may
// have accepted it: that is possible until the node is ready. Such a pod runs though a new pod like it
// is refused, so that a new rule of validation stops no pod.
func (h *hostPods) mayHaveAccepted(pod *v1.Pod) bool {
	if pod.Name == "" || len(validation.ValidateAccepted(pod)) > 0 {
		return false
	}
	_, known := h.manager.GetPodByUID(pod.UID)
	return known || !h.ready.Opened()
}

// podAsApplied is a copy of a pod as the loop would see it if Apply was called with it.
func (h *hostPods) podAsApplied(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	h.setDefaults(pod)
	return withHostSource(pod)
}

// setDefaults sets the fields of a pod that the caller of Apply may leave empty.
func (h *hostPods) setDefaults(pod *v1.Pod) {
	validation.Default(pod)
	pod.Spec.NodeName = cmp.Or(pod.Spec.NodeName, h.config.Name)
	if pod.UID == "" && pod.Name != "" {
		pod.UID = UIDFromName(pod.Namespace, pod.Name)
	}
}

// UIDFromName returns the UID that Apply gives a pod that has none. It depends on the namespace and the name
// alone; an empty namespace is "default". A program that applies pods without UIDs calls it for Delete.
func UIDFromName(namespace, name string) types.UID {
	sum := sha256.Sum256([]byte(cmp.Or(namespace, metav1.NamespaceDefault) + "/" + name))
	return types.UID(hex.EncodeToString(sum[:16]))
}

// invalidPod has all faults of a pod, as an error. It wraps each *field.Error.
type invalidPod field.ErrorList

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
