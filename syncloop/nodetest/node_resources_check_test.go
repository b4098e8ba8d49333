package nodetest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/eviction/evictor"
)

// allocatedSince has the values that the containers of a pod have by their allocated resources, from a time on.
type allocatedSince struct {
	from   time.Time
	values map[string]values // by container
}

// resourceChecks are the facts from which a history checks its invariants.
type resourceChecks struct {
	faults    []string
	allocated map[types.UID][]allocatedSince // the newest last
	created   map[string]time.Time           // by container ID: when it was first seen
	sums      map[v1.ResourceName]int64      // of the allocated requests after the last step
	counted   map[types.UID]v1.ResourceList  // the allocated requests of the pods in sums
	evicted   map[types.UID]*evictedPod
	victims   []types.UID // evicted for pressure in this pass
	last      victim
	snapshot  []runtime.Pod // of the machine
	// changed: a status, an event, a call of the runtime or an action has followed the last check of a step.
	changed bool
}

// victim is the last pod that was evicted for pressure.
type victim struct {
	uid types.UID
	at  time.Time
}

// evictedPod is a pod that was evicted.
type evictedPod struct {
	name   string
	at     time.Time // of the last event
	events int       // by the present node
	failed bool      // the status Failed was published
}

func newResourceChecks() resourceChecks {
	return resourceChecks{
		allocated: map[types.UID][]allocatedSince{}, created: map[string]time.Time{}, sums: map[v1.ResourceName]int64{},
		evicted: map[types.UID]*evictedPod{},
	}
}

// recordViolation adds a violation of an invariant. The history fails with it after the current step.
func (h *resourceHistory) recordViolation(format string, args ...any) {
	h.faultList = append(h.faultList, fmt.Sprintf("at %s: "+format, append([]any{h.sinceStart()}, args...)...))
}

// checkStep checks the invariants between two steps, if something that they concern has happened in between.
func (h *resourceHistory) checkStep() {
	if !h.changed {
		return
	}
	h.changed = false
	h.snapshot = h.b.Machine().Snapshot()
	pods := h.b.Node().Pods()
	h.recordAllocations(pods)
	h.checkSums(pods)
	h.checkEvicted(pods)
	h.checkContainers()
	h.machine.updateContainerCgroups()
	h.requireNoFault()
}

// recordAllocations stores new allocated resources of pods.
func (h *resourceHistory) recordAllocations(pods []*v1.Pod) {
	for _, p := range pods {
		if len(p.Spec.Containers) == 0 || len(p.Status.ContainerStatuses) == 0 && h.allocated[p.UID] == nil && p.Status.Phase == v1.PodFailed {
			continue
		}
		now := valuesOfPod(p)
		list := h.allocated[p.UID]
		if len(list) > 0 && maps.Equal(list[len(list)-1].values, now) {
			continue
		}
		h.allocated[p.UID] = append(list, allocatedSince{h.b.Now(), now})
	}
}

// valuesOfPod returns the values that the containers of a pod have by its spec.
func valuesOfPod(p *v1.Pod) map[string]values {
	all := map[string]values{}
	for c := range podspec.AllContainers(p) {
		limit := func(name v1.ResourceName) int64 {
			q, own := c.Resources.Limits[name]
			if !own && p.Spec.Resources != nil {
				q = p.Spec.Resources.Limits[name]
			}
			if name == v1.ResourceCPU {
				return q.MilliValue()
			}
			return q.Value()
		}
		requests := podspec.ContainerRequests(c)
		all[c.Name] = allocatedValues(requests.Cpu().MilliValue(), limit(v1.ResourceCPU), limit(v1.ResourceMemory))
	}
	return all
}

// checkSums checks that the allocated requests of the admitted pods do not rise above the allocatable amount.
func (h *resourceHistory) checkSums(pods []*v1.Pod) {
	sums, counted := map[v1.ResourceName]int64{}, map[types.UID]v1.ResourceList{}
	for _, p := range pods {
		if isRejectedOrWaiting(p) {
			continue
		}
		requests := podspec.Requests(p)
		counted[p.UID] = requests
		sums[v1.ResourceCPU] += requests.Cpu().MilliValue()
		sums[v1.ResourceMemory] += requests.Memory().Value()
	}
	for name, sum := range sums {
		if sum > h.allocatable(name) && sum > h.sums[name] {
			h.recordViolation("the allocated %s rose from %d to %d, and %d is allocatable", name, h.sums[name], sum, h.allocatable(name))
		}
	}
	h.sums, h.counted = sums, counted
}

// raiseSumsForNextNode sets the sums to the most that the pods of the last node may have at the next node. The next node
// has their allocated resources from the checkpoint, or their desired ones if the last node could not save them.
func (h *resourceHistory) raiseSumsForNextNode() {
	h.sums = map[v1.ResourceName]int64{}
	desired := map[types.UID]v1.ResourceList{}
	for _, p := range h.desired {
		p = p.DeepCopy()
		validation.Default(p)
		desired[p.UID] = podspec.Requests(p)
	}
	for uid, allocated := range h.counted {
		wanted := desired[uid]
		h.sums[v1.ResourceCPU] += max(allocated.Cpu().MilliValue(), wanted.Cpu().MilliValue())
		h.sums[v1.ResourceMemory] += max(allocated.Memory().Value(), wanted.Memory().Value())
	}
}

// isRejectedOrWaiting reports whether a pod has no allocated resources: it was rejected, it waits for admission, or it
// has ended.
func isRejectedOrWaiting(p *v1.Pod) bool {
	return len(p.Status.ContainerStatuses) == 0 || p.Status.Phase == v1.PodFailed || p.Status.Phase == v1.PodSucceeded
}

// checkEvicted checks that an evicted pod, once Failed, stays Failed and Evicted.
func (h *resourceHistory) checkEvicted(pods []*v1.Pod) {
	for _, p := range pods {
		e := h.evicted[p.UID]
		if e == nil {
			continue
		}
		isFailed := p.Status.Phase == v1.PodFailed
		switch {
		case isFailed && p.Status.Reason != eviction.Reason:
			h.recordViolation("the evicted pod %s is Failed with the reason %q", p.Name, p.Status.Reason)
		case isFailed:
			e.failed = true
		case e.failed && (p.Status.Phase == v1.PodRunning || p.Status.Phase == v1.PodSucceeded || len(p.Status.ContainerStatuses) > 0):
			h.recordViolation("the evicted pod %s was Failed, and is %s", p.Name, p.Status.Phase)
		}
	}
}

// checkContainers checks each container: its values were allocated to it, and its limits are within the limits of its pod.
func (h *resourceHistory) checkContainers() {
	for _, p := range h.snapshot {
		pod := h.machine.podLimits(p.UID)
		for _, c := range p.Containers {
			if c.State == runtime.StateExited {
				continue
			}
			have := h.valuesOf(c.ID)
			if _, seen := h.created[c.ID]; !seen {
				h.created[c.ID] = h.b.Now()
			}
			if !h.wasAllocated(p.UID, c.Name, have) {
				h.recordViolation("container %s of %s has %v, which was never allocated: %v", c.Name, p.Name, have, h.allocated[p.UID])
			}
			if c.State == runtime.StateRunning && !have.withinPod(pod) {
				h.recordViolation("container %s of %s has the limits %v, and its pod has %v", c.Name, p.Name, have.limits, pod)
			}
		}
	}
}

// wasAllocated reports whether the values were allocated to a container. Updates of cpu and of memory are separate, so
// each of them may be of another allocation. A pod that the node does not list yet has passed.
func (h *resourceHistory) wasAllocated(uid types.UID, container string, have values) bool {
	list := h.allocated[uid]
	cpu := slices.ContainsFunc(list, func(a allocatedSince) bool {
		return a.values[container].shares == have.shares && a.values[container].quota == have.quota
	})
	memory := slices.ContainsFunc(list, func(a allocatedSince) bool { return a.values[container].memory == have.memory })
	return len(list) == 0 || cpu && memory
}

// window is how much older than a start the resources of the sync that starts it may be: the longest grace period, and
// the latency of faults.
const window = time.Minute

// checkCreate checks the resources with which a container is created.
func (h *resourceHistory) checkCreate(req runtime.CreateContainerRequest) {
	if have := containerValues(req.Resources); !h.wasAllocated(req.Pod.UID, req.Name, have) {
		h.recordViolation("container %s of %s is created with %v, which was never allocated: %v", req.Name, req.Pod.Name, have, h.allocated[req.Pod.UID])
	}
}

// checkStart checks that a container is not started above the limits that were allocated to it lately, nor above the limits
// of its pod, and that its pod was not evicted.
func (h *resourceHistory) checkStart(id string) {
	for _, p := range h.b.Machine().Snapshot() {
		for _, c := range p.Containers {
			if c.ID != id {
				continue
			}
			have := h.valuesOf(id)
			var most limits
			list := h.allocated[p.UID]
			for i, a := range list {
				if i+1 < len(list) && list[i+1].from.Before(h.b.Now().Add(-window)) {
					continue // It was replaced long ago.
				}
				v := a.values[c.Name]
				most.quota, most.memory = max(most.quota, v.quota), max(most.memory, v.memory)
			}
			if len(list) > 0 && !have.isWithin(most) {
				h.recordViolation("container %s of %s starts with the limits %v above the allocated %v", c.Name, p.Name, have.limits, most)
			}
			if pod := h.machine.podLimits(p.UID); !have.withinPod(pod) {
				h.recordViolation("container %s of %s starts with the limits %v above the limits of its pod, %v", c.Name, p.Name, have.limits, pod)
			}
			h.checkMayStart(p.UID, "container "+c.Name)
		}
	}
}

// checkMayStart checks that nothing of an evicted pod starts. A call with latency may have begun before the eviction.
func (h *resourceHistory) checkMayStart(uid types.UID, what string) {
	if e := h.evicted[uid]; e != nil && (e.failed || h.b.Now().Sub(e.at) > 10*time.Second) {
		h.recordViolation("%s of the evicted pod %s starts", what, e.name)
	}
}

// checkUpdate checks that an update does not raise a container above its pod.
func (h *resourceHistory) checkUpdate(req runtime.UpdateContainerRequest) {
	for _, p := range h.b.Machine().Snapshot() {
		for _, c := range p.Containers {
			next := containerValues(req.Resources)
			if req.Resources.CPUQuota == 0 {
				next.quota = 0
			}
			if req.Resources.MemoryBytes == 0 {
				next.memory = 0
			}
			if pod := h.machine.podLimits(p.UID); c.ID == req.ContainerID && !next.withinPod(pod) {
				h.recordViolation("container %s of %s gets the limits %v, and its pod has %v", c.Name, p.Name, next.limits, pod)
			}
		}
	}
}

// countingSignals starts a new pass of the checks with each measurement of the node.
type countingSignals struct {
	evictor.SignalReader
	history *resourceHistory
}

func (s countingSignals) ReadSignals(ctx context.Context) (eviction.Observations, error) {
	s.history.victims = nil
	return s.SignalReader.ReadSignals(ctx)
}

// evictionRecorder checks each eviction that a node records.
type evictionRecorder struct {
	runtime.EventRecorder
	history *resourceHistory
}

func (r evictionRecorder) Event(object k8sruntime.Object, eventtype, reason, message string) {
	r.history.changed = true
	if pod, ok := object.(*v1.Pod); ok && reason == eviction.Reason && !strings.Contains(message, "The node had condition") {
		r.history.checkEviction(pod, message)
	}
	r.checkNotRejected(message)
	r.EventRecorder.Event(object, eventtype, reason, message)
}

func (r evictionRecorder) Eventf(object k8sruntime.Object, eventtype, reason, format string, args ...any) {
	r.history.changed = true
	r.checkNotRejected(fmt.Sprintf(format, args...))
	r.EventRecorder.Eventf(object, eventtype, reason, format, args...)
}

// rejected is the text of cgroups.ErrRejected in events, which have no package names.
var rejected = strings.TrimPrefix(cgroups.ErrRejected.Error(), "cgroups: ")

// checkNotRejected checks that the kernel has not refused a value beside the values of the containers.
func (r evictionRecorder) checkNotRejected(message string) {
	if strings.Contains(message, rejected) {
		r.history.recordViolation("the kernel rejects a value: %s", message)
	}
}

// checkEviction checks one eviction: the pod is not critical, is evicted for the first time, and is the only one of the
// pass for pressure. Another victim for pressure must have stopped, or have had its time.
func (h *resourceHistory) checkEviction(pod *v1.Pod, message string) {
	if podspec.IsCritical(pod) {
		h.recordViolation("the critical pod %s is evicted: %s", pod.Name, message)
	}
	e := h.evicted[pod.UID]
	if e == nil {
		e = &evictedPod{name: pod.Name}
		h.evicted[pod.UID] = e
	}
	e.at = h.b.Now()
	if e.events++; e.events > 1 || e.failed {
		h.recordViolation("the pod %s is evicted again: %s", pod.Name, message)
	}
	if !strings.HasPrefix(message, "The node was low on resource") {
		return
	}
	if h.victims = append(h.victims, pod.UID); len(h.victims) > 1 {
		h.recordViolation("one pass evicts %v", h.victims)
	}
	if h.last.uid != "" && h.b.Now().Sub(h.last.at) < eviction.VictimTimeout && h.mayRun(h.last.uid) {
		h.recordViolation("%s is evicted although %s was evicted %s before and runs", pod.Name, h.last.uid, h.b.Now().Sub(h.last.at))
	}
	h.last = victim{pod.UID, h.b.Now()}
}

// mayRun reports whether a container of the pod runs.
func (h *resourceHistory) mayRun(uid types.UID) bool {
	p := h.b.Machine().SnapshotPod(uid)
	return p.MayRun()
}

// forgetForNextNode prepares the checks for the next node. It does not know the evictions whose status was not stored.
func (h *resourceHistory) forgetForNextNode() {
	h.last, h.victims = victim{}, nil
	for uid, e := range h.evicted {
		if e.events = 0; !e.failed {
			delete(h.evicted, uid)
		}
	}
}

// sinceStart returns the virtual time since the beginning.
func (h *resourceHistory) sinceStart() time.Duration { return h.b.Now().Sub(h.began) }
