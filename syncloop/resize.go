package syncloop

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// Resizes configures how Handlers resize admitted pods. The zero value resizes none.
//
// The Manager has each pod with its allocated resources, not with the resources that its source desires. If the
// desired resources differ, the allocation table decides whether the pod gets them. Until then the stored pod
// has the condition PodResizePending. A pod that gets them has the condition PodResizeInProgress; the PodSyncer
// publishes that condition until the containers have the new resources.
type Resizes struct {
	// Supported reports whether the runtime can update the resources of a running container. If it cannot, each
	// resize of a pod of an API server is Infeasible, and changed resources of another pod count from the next
	// start of each container. It is called on the loop for each changed spec, and must not block. nil: it
	// cannot.
	Supported func() bool
	// Refuse returns why this pod cannot get other resources, or "". A refused resize is Infeasible. It is
	// called on the loop for each changed spec, and must not block or change the pods. nil refuses none.
	Refuse func(allocated, desired *v1.Pod) (message string)
	// Allocated returns the resources that an earlier agent has saved for a pod. It is called on the loop when
	// a source adds a pod that runs, and must not block. nil: none are saved.
	Allocated func(pod *v1.Pod) (allocation.PodResources, bool)
	// Save saves the allocated resources of a pod for Allocated of the next agent. It is called on the loop
	// when a pod with requests or limits gets a worker, unless Allocated has returned its resources, when a pod
	// requests other resources, and when it gets them. It must not block. nil is not called.
	Save func(pod *v1.Pod, allocated allocation.PodResources)
}

const (
	// resizeUnsupported is the refusal of a node whose runtime cannot update a running container.
	resizeUnsupported = "this node does not resize pods in place"
	// resizeCheckPanicked is the message of a resize that is deferred because a function of the host program has
	// panicked.
	resizeCheckPanicked = "a check of the resize has failed and is repeated"
)

// storePods stores changed pods in the manager and returns them as stored. A pod whose resources have changed
// keeps its allocated resources, and storePods decides about its resize and any other waiting resize request.
// It updates the workers of other pods that are resized; the caller updates the workers of the given pods.
func (h *Handlers) storePods(pods []*v1.Pod) []*v1.Pod {
	stored := make([]*v1.Pod, len(pods))
	uids := make(map[types.UID]bool, len(pods))
	for i, pod := range pods {
		stored[i] = h.storePod(pod)
		uids[pod.UID] = true
	}
	if h.decideResizes(uids) {
		for i, pod := range stored {
			if now, found := h.config.Manager.GetPodByUID(pod.UID); found && !podmanager.IsMirrorPod(pod) {
				stored[i] = now
			}
		}
	}
	return stored
}

// storePod stores one changed pod in the manager and returns it as stored. If the resources of an admitted pod
// have changed, it stores the pod with its allocated resources and its resize conditions, and requests the
// resize.
func (h *Handlers) storePod(desired *v1.Pod) *v1.Pod {
	stored := desired
	if !podmanager.IsMirrorPod(desired) {
		h.ensureRecord(desired.UID).pendingResize = nil // withAllocatedResources requests the newest resize.
		stored = withoutResizeConditions(desired)
		if before, known := h.config.Manager.GetPodByUID(desired.UID); known && !h.isRejectedOrWaiting(desired.UID) {
			stored = h.withAllocatedResources(before, stored)
		}
	}
	h.config.Manager.UpdatePod(stored)
	return stored
}

// withAllocatedResources returns the desired pod with the resources and the resize conditions of its stored
// version, before. If the desired resources are different, it requests a resize. If they are equal or the
// request fails, it cancels an earlier request and drops the condition PodResizePending. A pod that is not from
// an API server is returned unchanged if the runtime cannot resize.
func (h *Handlers) withAllocatedResources(before, desired *v1.Pod) *v1.Pod {
	if supported, fault := h.resizesSupported(); !h.config.FromAPIServer(desired) && !supported && fault == nil {
		return desired
	}
	stored, differs := allocation.PodResourcesOf(before).ApplyTo(desired)
	unapplied := h.readRecord(desired.UID).unappliedResize
	if unapplied != nil && unapplied.Kind == allocation.AllocateResize {
		differs = true // The table has the resources of the decision, and the stored pod does not.
	}
	pending := differs && h.requestResize(before, desired, h.config.Clock.Now())
	if !pending {
		h.table.CancelResize(desired.UID)
		h.ensureRecord(desired.UID).unappliedResize = nil
	}
	var kept []v1.PodCondition
	for _, c := range before.Status.Conditions {
		if c.Type == v1.PodResizeInProgress || c.Type == v1.PodResizePending && pending {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return stored
	}
	copied := *stored
	copied.Status.Conditions = slices.Concat(stored.Status.Conditions, kept)
	return &copied
}

// requestResize stores a request to resize an admitted pod, which the host program may have refused as
// infeasible. For the first request it also saves the allocated resources. now is the time of the request. If the
// pod is not admitted yet, it returns false, and startWorker requests the resize. If the pod is being deleted, it
// does nothing and returns false.
func (h *Handlers) requestResize(allocated, desired *v1.Pod, now time.Time) (requested bool) {
	if desired.DeletionTimestamp != nil {
		return false
	}
	h.ensureRecord(desired.UID).pendingResize = desired
	before, _ := h.table.ResizeState(desired.UID)
	request := allocation.ResizeRequest{Pod: toAllocationPod(h.chain.rules, desired), Generation: desired.Generation, Refusal: h.askHostAboutResize(allocated, desired)}
	if !h.table.RequestResize(request, now) {
		return false
	}
	if before == allocation.NoResize {
		h.config.Resizes.Save(desired, allocation.PodResourcesOf(allocated))
	}
	return true
}

// requestPendingResize requests the pending resize of a pod that has got its worker, and wakes the loop, which then
// decides about the resize. It does nothing if no resize is pending.
func (h *Handlers) requestPendingResize(pod *v1.Pod) {
	if desired := h.readRecord(pod.UID).pendingResize; desired != nil && h.requestResize(pod, desired, pendingSince(desired, h.config.Clock.Now())) {
		h.wake()
	}
}

// askHostAboutResize asks the host program whether it refuses a resize. It returns the zero Answer if the host
// program does not refuse. It returns the reason Infeasible if the host program supports no resizes, or refuses
// this one. If a function of the host program panics, the Answer is a Fault, and housekeeping asks again.
func (h *Handlers) askHostAboutResize(allocated, desired *v1.Pod) allocation.Answer {
	message := resizeUnsupported
	supported, fault := h.resizesSupported()
	if supported {
		fault = h.guard.Call("Resizes.Refuse", func() { message = h.config.Resizes.Refuse(allocated, desired) })
	}
	switch {
	case fault != nil:
		return allocation.Answer{Message: resizeCheckPanicked, Fault: true}
	case message != "":
		return allocation.Answer{Reason: v1.PodReasonInfeasible, Message: message}
	}
	return allocation.Answer{}
}

// resizesSupported calls Resizes.Supported. It returns an error if that panics.
func (h *Handlers) resizesSupported() (supported bool, fault error) {
	if fault = h.guard.Call("Resizes.Supported", func() { supported = h.config.Resizes.Supported() }); fault != nil {
		return false, fault
	}
	return supported, nil
}

// withoutResizeConditions returns a copy of the pod without the conditions PodResizePending and
// PodResizeInProgress, or the pod itself if it has neither.
func withoutResizeConditions(pod *v1.Pod) *v1.Pod {
	rest := removeConditions(pod.Status.Conditions, v1.PodResizePending, v1.PodResizeInProgress)
	if len(rest) == len(pod.Status.Conditions) {
		return pod
	}
	copied := *pod
	copied.Status.Conditions = rest
	return &copied
}

// removeConditions returns a copy of a list without the conditions of the given types.
func removeConditions(conditions []v1.PodCondition, removed ...v1.PodConditionType) []v1.PodCondition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c v1.PodCondition) bool { return slices.Contains(removed, c.Type) })
}

// decideResizes lets the allocation table decide about the resize requests, applies each new decision, and reports
// whether there was one. It does not update the workers of the pods in callerUpdates. Before every source has
// delivered, it decides nothing, because running pods may not have been counted yet. A panic is logged.
func (h *Handlers) decideResizes(callerUpdates map[types.UID]bool) (decided bool) {
	if !h.config.Sources.AllSeen() {
		return false
	}
	for _, e := range h.table.DecideResizes(nil) {
		decided = true
		h.applyResizeDecisionOrRetryLater(e, callerUpdates[e.UID])
		if e.Answer.Fault {
			h.requestHousekeeping()
		}
	}
	return decided
}

// applyResizeDecisionOrRetryLater calls applyResizeDecision. After a panic it stores the decision, and the next
// housekeeping applies it, unless there is a newer decision about the pod or the pod is removed.
func (h *Handlers) applyResizeDecisionOrRetryLater(e allocation.Effect, callerUpdates bool) {
	r := h.ensureRecord(e.UID)
	first := r.unappliedResize == nil
	r.unappliedResize = nil
	if e.Kind == allocation.AllocateResize {
		r.pendingResize = nil
	}
	err := h.guard.Call("SyncHandler.HandlePodUpdates", func() { h.applyResizeDecision(e, callerUpdates) })
	if err == nil {
		return
	}
	r.unappliedResize = &e
	if first {
		h.config.Log.Error("the decision about a resize panicked and is repeated by the next housekeeping", "uid", e.UID, "err", err)
	}
	h.requestHousekeeping()
}

// retryPanickedResizes repeats the work on resizes that a panic has stopped. It applies each decision whose
// application panicked. It requests each resize again for which a function of the host program panicked. If such a
// function panics again, it requests the next housekeeping, which calls it once more.
func (h *Handlers) retryPanickedResizes() {
	for _, uid := range h.uidsWhere(func(r *record) bool { return r.unappliedResize != nil }) {
		h.applyResizeDecisionOrRetryLater(*h.readRecord(uid).unappliedResize, false)
	}
	requests := h.table.ResizesWithFaults()
	if len(requests) == 0 {
		return
	}
	for _, request := range requests {
		if allocated, found := h.config.Manager.GetPodByUID(request.Pod.UID); found {
			h.requestResize(allocated, request.Pod.Pod, h.config.Clock.Now())
		}
	}
	h.table.RecheckFaults()
	h.decideResizes(nil)
	if len(h.table.ResizesWithFaults()) > 0 {
		h.requestHousekeeping()
	}
}

// applyResizeDecision updates the desired pod with the decision about its resize request. If the request is
// accepted, it sets the new resources and PodResizeInProgress, and also saves the resources for the next process.
// If the request is deferred or refused, it sets PodResizePending with the reason. It records an event and logs
// the decision. It updates the worker of the pod unless callerUpdates is true. It does nothing if the pod is no
// longer desired.
func (h *Handlers) applyResizeDecision(e allocation.Effect, callerUpdates bool) {
	before, found := h.config.Manager.GetPodByUID(e.UID)
	if !found {
		return
	}
	condition := v1.PodCondition{Type: v1.PodResizePending, Status: v1.ConditionTrue, ObservedGeneration: e.Generation, Message: e.Answer.Message}
	stored, eventType, event := before, v1.EventTypeWarning, ""
	switch e.Kind {
	case allocation.AllocateResize:
		allocated := allocation.PodResourcesOf(e.Pod.Pod)
		stored, _ = allocated.ApplyTo(before)
		h.config.Resizes.Save(stored, allocated)
		condition = v1.PodCondition{
			Type: v1.PodResizeInProgress, Status: v1.ConditionTrue, ObservedGeneration: e.Generation, LastTransitionTime: h.nextTransitionTime(before),
		}
		eventType, event = v1.EventTypeNormal, podstatus.EventResizeStarted
	case allocation.DeferResize:
		condition.Reason, event = v1.PodReasonDeferred, podstatus.EventResizeDeferred
	case allocation.RefuseResize:
		condition.Reason, event = v1.PodReasonInfeasible, podstatus.EventResizeInfeasible
	}
	if condition.Type == v1.PodResizePending {
		condition.LastTransitionTime = h.pendingTransitionTime(before, &condition)
	}
	stored = withResizeCondition(stored, condition)
	h.config.Manager.UpdatePod(stored)
	h.config.Recorder.Event(stored, eventType, event, podstatus.ResizeEventMessage(event, e.Pod.Pod, e.Generation, e.Answer.Message))
	h.config.Log.Info("decided about a resize", "pod", podmanager.FullName(stored), "uid", e.UID, "decision", e.Kind.String(), "generation", e.Generation, "message", e.Answer.Message)
	if !callerUpdates {
		mirror, _ := h.config.Manager.GetMirrorPodByPod(stored)
		h.updateWorker(podworkers.SyncPodUpdate, stored, mirror)
	}
}

// pendingTransitionTime returns the transition time for a new condition PodResizePending of a pod. It is the time of the
// earlier condition if that has the same reason, and otherwise now in whole seconds (RZ-46).
func (h *Handlers) pendingTransitionTime(before *v1.Pod, condition *v1.PodCondition) metav1.Time {
	c := podstatus.FindCondition(before.Status.Conditions, v1.PodResizePending)
	if c != nil && !podstatus.IsTransition(c, condition) && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime
	}
	return metav1.NewTime(h.config.Clock.Now().Truncate(time.Second))
}

// withPendingCondition returns a copy of an added pod with the condition PodResizePending that an earlier agent has
// written to the API server. It returns the pod itself if there is none, or if the pod has the resources that its source
// desires, so that no resize is pending.
func withPendingCondition(pod, source *v1.Pod) *v1.Pod {
	c := podstatus.FindCondition(source.Status.Conditions, v1.PodResizePending)
	if c == nil || c.Status != v1.ConditionTrue || allocation.SameResources(pod, source) {
		return pod
	}
	copied := *pod
	copied.Status.Conditions = append(slices.Clone(pod.Status.Conditions), *c)
	return &copied
}

// pendingSince returns the transition time of the condition PodResizePending of a pod that an earlier agent has written,
// or now if there is none. The order of resizes follows it (RZ-27).
func pendingSince(pod *v1.Pod, now time.Time) time.Time {
	c := podstatus.FindCondition(pod.Status.Conditions, v1.PodResizePending)
	if c == nil || c.LastTransitionTime.IsZero() || c.LastTransitionTime.After(now) {
		return now
	}
	return c.LastTransitionTime.Time
}

// nextTransitionTime returns the transition time for a new condition PodResizeInProgress of a pod: now in whole
// seconds, as a status has it, but later than the time of an earlier such condition. The PodSyncer reports the end
// of each resize once, and tells two resizes apart by this time.
func (h *Handlers) nextTransitionTime(before *v1.Pod) metav1.Time {
	at := h.config.Clock.Now().Truncate(time.Second)
	if c := podstatus.FindCondition(before.Status.Conditions, v1.PodResizeInProgress); c != nil && !at.After(c.LastTransitionTime.Time) {
		at = c.LastTransitionTime.Add(time.Second)
	}
	return metav1.NewTime(at)
}

// withResizeCondition returns a copy of a pod in which a new condition, PodResizePending or PodResizeInProgress,
// replaces an earlier condition of the same type. PodResizeInProgress also replaces PodResizePending, because the
// pod now has the resources that it requested.
func withResizeCondition(pod *v1.Pod, condition v1.PodCondition) *v1.Pod {
	copied := *pod
	copied.Status.Conditions = append(removeConditions(pod.Status.Conditions, v1.PodResizePending, condition.Type), condition)
	return &copied
}

// withSavedResources returns the pod with the resources that an earlier agent has saved for it. It returns the
// pod itself if none are saved.
func (h *Handlers) withSavedResources(pod *v1.Pod) *v1.Pod {
	saved, found := h.config.Resizes.Allocated(pod)
	if !found {
		return pod
	}
	h.ensureRecord(pod.UID).hasSavedResources = true
	allocated, _ := saved.ApplyTo(pod)
	return allocated
}

// saveResourcesIfUnsaved saves the resources of a pod for the next agent, when the pod gets a worker (RZ-16): the
// source may deliver other resources while no agent runs. It saves nothing for a pod without requests and limits,
// and nothing if the resources are saved already.
func (h *Handlers) saveResourcesIfUnsaved(r *record, pod *v1.Pod) {
	if r.hasSavedResources || !allocation.HasResources(pod) {
		return
	}
	r.hasSavedResources = true
	h.config.Resizes.Save(pod, allocation.PodResourcesOf(pod))
}
