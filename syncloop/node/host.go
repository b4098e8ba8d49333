package node

import (
	"cmp"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/syncloop"
)

// Apply makes a pod desired on the node, in place of an earlier pod of its UID. The pod needs a name.
// Apply copies it, and sets the defaults of an API server and the name of the node. A pod without a UID
// gets the UID that UIDFromName returns, so that a later Apply of the same name updates the same pod, also
// in another process. A pod with a deletion timestamp is not desired; it is shown until it has terminated.
// An Apply without the timestamp makes it desired again: it starts again after it has terminated.
// The conditions of its readiness gates come from its status: call Apply again to change them.
//
// After an error nothing has changed. The error wraps source.ErrInvalid and has every fault of the pod
// as a *field.Error of apimachinery (validation.Validate). For a pod that the node knows, and for any
// pod before the node is ready, Apply reports only faults that the node cannot run
// (validation.ValidateAccepted), so that new rules stop no pod of an earlier process. The error is
// ErrStopped if Run has returned, and ErrJoined if the pods come from an API server.
//
// A pod that was rejected, for example with reason OutOfmemory, stays Failed when it is applied again, also with a
// smaller request. Delete and then Apply it, or set Config.Scheduling.WhenFull to syncloop.Wait: then a pod for which
// there is no room waits. Other sources behave in the same way.
//
// A pod with another spec under the same UID is the same pod. Its changed containers start again, and their restart
// counts go on. The counts of a pod also go on if it is deleted and applied while the runtime has records of it. A change that
// no API server would allow, such as another command, terminates the pod first.
//
// Apply does not protect running pods of an earlier process from termination before they are applied: see
// Config.Pods.AwaitHost and OrphanGrace. It does not store pods: see package checkpoint.
//
// Apply never blocks, and may be called before Run and from any goroutine. The cost of Apply and of
// Delete does not depend on the number of pods.
func (n *Node) Apply(pod *v1.Pod) error { return n.host.validateCountAndApply(pod) }

// Replace makes exactly these pods desired, in place of all pods that were applied before. If one of
// them is invalid, nothing changes, and Replace returns the error that Apply would return.
func (n *Node) Replace(pods []*v1.Pod) error { return n.host.validateCountAndReplaceAll(pods) }

// Delete removes the pod of this UID from the desired pods. The node terminates the pod within its
// grace period and then forgets it. For an unknown pod Delete does nothing. It never blocks, and may be
// called before Run and from any goroutine.
func (n *Node) Delete(uid types.UID) { n.host.deleteAndCountAsTerminating(uid) }

// SetComplete says that the host program has applied all of its pods, for a node with
// Config.Pods.AwaitHost. The node may then terminate other running pods. Later calls do nothing.
func (n *Node) SetComplete() { n.host.handle.SetComplete() }

// hostPods delivers the pods of the host program to the source "api".
type hostPods struct {
	config   *Config
	handle   *source.Handle
	manager  *podmanager.Store
	handlers *syncloop.Handlers
	ready    executor.Latch
	done     executor.Latch
	specs    specCache
}

// validateCountAndApply validates the pod, makes Fits and Allocated count it, and passes it to the source. If
// the source rejects the pod, Fits and Allocated no longer count it. It returns the error of the validation or
// of the source.
func (h *hostPods) validateCountAndApply(pod *v1.Pod) error {
	pod, err := h.prepareValidOrKnownPodUnlessStopped(pod)
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

// validateCountAndReplaceAll validates all pods, makes Fits and Allocated count them, and passes them to the
// source in place of all pods that were applied before. If one pod is invalid or the source rejects the pods,
// nothing changes, and the error names the faults. If an API server is the source, it returns ErrJoined.
func (h *hostPods) validateCountAndReplaceAll(pods []*v1.Pod) error {
	if h.config.hasAPIServerSource() {
		return ErrJoined
	}
	var errs []error
	prepared := make([]*v1.Pod, len(pods))
	for i, pod := range pods {
		var err error
		prepared[i], err = h.prepareValidOrKnownPodUnlessStopped(pod)
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
	h.unassumeAllExcept(prepared)
	return nil
}

// deleteAndCountAsTerminating removes the pod from the desired pods. Fits counts the pod as terminating at
// once, unless the pod comes from an API server or is static. A pod that no source has delivered yet no longer
// counts.
func (h *hostPods) deleteAndCountAsTerminating(uid types.UID) {
	if pod, known := h.manager.GetPodByUID(uid); known && !h.config.hasAPIServerSource() && !podmanager.IsStaticPod(pod) {
		h.handlers.AssumeTerminating(uid) // A static pod comes from another source.
	}
	h.handle.Delete(uid)
	h.handlers.Unassume(uid)
}

// prepareValidOrKnownPodUnlessStopped returns a copy of a pod with its defaults, or nil for a nil pod. It
// returns an error if the pod is invalid, Run has returned, or an API server delivers the pods. An invalid pod
// that the node may have accepted before passes, with a warning in the log. The parts of the node share the
// copy, so it must not be modified.
func (h *hostPods) prepareValidOrKnownPodUnlessStopped(pod *v1.Pod) (*v1.Pod, error) {
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
	known := h.specs.replaceByEqualCached(&pod.Spec)
	check := validation.Validate
	if known {
		check = validation.ValidateMetadata
	}
	switch faults := append(check(pod), validation.ValidateNotMirror(pod)...); {
	case len(faults) == 0:
		if !known {
			h.specs.addInPlaceOfOldest(&pod.Spec)
		}
	case h.mayHaveAcceptedBefore(pod):
		h.config.Log.Warn("accepting a pod that a new validation rule rejects, because the node may have accepted it before",
			"pod", pod.Namespace+"/"+pod.Name, "uid", pod.UID, "err", invalidPod(faults))
	default:
		return nil, fmt.Errorf("node: %w: %s/%s: %w", source.ErrInvalid, pod.Namespace, pod.Name, invalidPod(faults))
	}
	return pod, nil
}

// mayHaveAcceptedBefore reports whether the node or an earlier process may have accepted the pod: the node has
// the UID, or is not ready yet. It returns false for a pod without a name and for a pod that no node can run.
// The caller accepts such a pod although it fails validation, so that a new rule stops no running pod.
func (h *hostPods) mayHaveAcceptedBefore(pod *v1.Pod) bool {
	if pod.Name == "" || len(validation.ValidateAccepted(pod)) > 0 {
		return false
	}
	_, known := h.manager.GetPodByUID(pod.UID)
	return known || !h.ready.Opened()
}

// podAsApplied returns a copy of a pod with the defaults and the source annotation that Apply would give it.
func (h *hostPods) podAsApplied(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	h.setDefaults(pod)
	return withHostSource(pod)
}

// setDefaults sets the defaults of an API server on a pod. An empty spec.nodeName becomes the name of this
// node, and an empty UID of a pod with a name becomes the result of UIDFromName.
func (h *hostPods) setDefaults(pod *v1.Pod) {
	validation.Default(pod)
	pod.Spec.NodeName = cmp.Or(pod.Spec.NodeName, h.config.Name)
	if pod.UID == "" && pod.Name != "" {
		pod.UID = UIDFromName(pod.Namespace, pod.Name)
	}
}

// UIDFromName returns the UID that Apply gives a pod that has none. It depends on the namespace and the name
// alone; an empty namespace is "default". A program that applies pods without UIDs calls it for Delete.
//
// A pod that is deleted and applied again has the same UID. If the process restarts within seconds after the
// deletion, the new process takes the applied pod for the deleted one: a job that had completed does not run
// again. A program whose pods survive restarts calls checkpoint.Pods.UIDForName instead.
func UIDFromName(namespace, name string) types.UID { return podspec.UIDFromName(namespace, name) }

// invalidPod is an error with all faults of a pod. It wraps each *field.Error.
type invalidPod field.ErrorList

// Error returns one line for each fault.
func (e invalidPod) Error() string { return plain.Fields(field.ErrorList(e)) }

// Unwrap returns the faults, so that errors.As finds the first *field.Error.
func (e invalidPod) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}
