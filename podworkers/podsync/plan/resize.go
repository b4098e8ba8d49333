package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// resizeMemory is the part of a Memory that only pods have whose containers were resized.
type resizeMemory struct {
	// message is the message of the last UpdateContainer step if it has failed.
	message string
	// cgroupMessage is the message of RecordCgroupLimit.
	cgroupMessage string
	// completed is the transition time of the condition PodResizeInProgress of the last resize that the
	// executor has reported as complete.
	completed time.Time
}

// updatedResources are the resources that the last UpdateContainer steps have given to a container.
type updatedResources struct {
	id        string // of the container
	resources v1.ResourceRequirements
	// uncertain: the last step has failed, and the runtime may have performed it nevertheless. What the runtime
	// reports counts then.
	uncertain bool
}

// RecordUpdate records that the executor has performed an UpdateContainer step, or that the step has failed. The
// message of a failure is not empty; the condition PodResizeInProgress shows it. After a failure the container has
// what the runtime reports, because the reply may be lost. After a success the container has the requested amounts of
// the resource of the step, and the status shows them.
func (m Memory) RecordUpdate(s Step, message string) Memory {
	if s.Op != UpdateContainer || s.Container == nil {
		return m
	}
	past := m.containers.findMemory(s.Name)
	next := updatedResources{id: s.ID, resources: s.inForce}
	if past.updated != nil && past.updated.id == s.ID && !past.updated.uncertain {
		next = *past.updated
	}
	if message != "" {
		next.uncertain = true
		past.updated = &next
		m.setContainer(s.Name, past)
		return m.withResize(func(r *resizeMemory) { r.message = message })
	}
	next.resources = withWantedResource(s.Resource, next.resources, s.Container, s.podLimits)
	past.updated = &next
	m.setContainer(s.Name, past)
	return m.withResize(func(r *resizeMemory) { r.message = "" })
}

// RecordResizeCompleted reports whether a resize that the pod's condition PodResizeInProgress announces has
// become complete since the last call, and records that. status is the new status of the pod. The executor then
// records the event ResizeCompleted, once for each resize.
func (m Memory) RecordResizeCompleted(pod *v1.Pod, status *v1.PodStatus) (_ Memory, completed bool) {
	if !m.isAnnouncedResizeIncomplete(pod) || podstatus.FindCondition(status.Conditions, v1.PodResizeInProgress) != nil {
		return m, false
	}
	announced := podstatus.FindCondition(pod.Status.Conditions, v1.PodResizeInProgress)
	return m.withResize(func(r *resizeMemory) { r.completed = announced.LastTransitionTime.Time }), true
}

// RecordCgroupLimit records that the cgroup of the pod keeps a larger limit than the spec, with the message of the error,
// or with "" that it has the limits of the spec. A resize is not complete before.
func (m Memory) RecordCgroupLimit(message string) Memory {
	return m.withResize(func(r *resizeMemory) { r.cgroupMessage = message })
}

// ResizeError returns the message of the last UpdateContainer step that failed, or else the message of RecordCgroupLimit. It
// returns "" if neither has failed.
func (m Memory) ResizeError() string {
	if m.resize == nil {
		return ""
	}
	return cmp.Or(m.resize.message, m.resize.cgroupMessage)
}

// isAnnouncedResizeIncomplete reports whether the pod's condition PodResizeInProgress announces a resize that was not reported as
// complete.
func (m Memory) isAnnouncedResizeIncomplete(pod *v1.Pod) bool {
	announced := podstatus.FindCondition(pod.Status.Conditions, v1.PodResizeInProgress)
	return announced != nil && (m.resize == nil || !m.resize.completed.Equal(announced.LastTransitionTime.Time))
}

// withResize returns a Memory with a changed resizeMemory. The stored one is never changed, because copies of
// the Memory share it.
func (m Memory) withResize(change func(r *resizeMemory)) Memory {
	var next resizeMemory
	if m.resize != nil {
		next = *m.resize
	}
	change(&next)
	if m.resize = &next; next == (resizeMemory{}) {
		m.resize = nil
	}
	return m
}

// resizableResources are the resources that a resize can change.
var resizableResources = [...]v1.ResourceName{v1.ResourceMemory, v1.ResourceCPU}

// podLevelLimits returns the limits in spec.resources of the pod, or nil. A container without a limit of its own gets them.
func podLevelLimits(pod *v1.Pod) v1.ResourceList {
	if pod.Spec.Resources == nil {
		return nil
	}
	return pod.Spec.Resources.Limits
}

// wantedResources returns the requests and limits that a container should have: the ones in its spec, with the
// limits of the pod for cpu and memory if the container has none. The result may be the resources of the spec,
// and must not be changed.
func wantedResources(c *v1.Container, podLimits v1.ResourceList) *v1.ResourceRequirements {
	want := &c.Resources
	for _, name := range resizableResources {
		limit, found := podLimits[name]
		if _, own := want.Limits[name]; !found || own {
			continue
		}
		if want == &c.Resources {
			want = &v1.ResourceRequirements{Requests: c.Resources.Requests, Limits: maps.Clone(c.Resources.Limits), Claims: c.Resources.Claims}
			if want.Limits == nil {
				want.Limits = v1.ResourceList{}
			}
		}
		want.Limits[name] = limit
	}
	return want
}

// withWantedResource returns a copy of have in which the request and the limit of one resource are those that the
// container should have.
func withWantedResource(name v1.ResourceName, have v1.ResourceRequirements, c *v1.Container, podLimits v1.ResourceList) v1.ResourceRequirements {
	want := wantedResources(c, podLimits)
	have.Requests, have.Limits = withAmountFrom(want.Requests, name, have.Requests), withAmountFrom(want.Limits, name, have.Limits)
	return have
}

// withAmountFrom returns a copy of list with the amount of one resource in another list. If the other list has no
// amount of the resource, the copy has none.
func withAmountFrom(other v1.ResourceList, name v1.ResourceName, list v1.ResourceList) v1.ResourceList {
	list = maps.Clone(list)
	amount, found := other[name]
	switch {
	case !found:
		delete(list, name)
	case list == nil:
		list = v1.ResourceList{name: amount}
	default:
		list[name] = amount
	}
	return list
}

// differsIn reports whether the request or the limit of a resource differs.
func differsIn(name v1.ResourceName, a, b *v1.ResourceRequirements) bool {
	return !equalAmounts(name, a.Requests, b.Requests) || !equalAmounts(name, a.Limits, b.Limits)
}

// needsResize reports whether the requests and limits of cpu and memory that a container has differ from those that
// it should have.
func needsResize(have, want *v1.ResourceRequirements) bool {
	return slices.ContainsFunc(resizableResources[:], func(name v1.ResourceName) bool { return differsIn(name, have, want) })
}

// equalAmounts reports whether two lists have the same amount of a resource. A missing amount equals only a
// missing one.
func equalAmounts(name v1.ResourceName, a, b v1.ResourceList) bool {
	x, inA := a[name]
	y, inB := b[name]
	return inA == inB && x.Cmp(y) == 0
}

// isDecrease reports whether want is less of a resource than have. The limit decides, where no limit is more
// than any limit. If the limits are equal, the request decides.
func isDecrease(name v1.ResourceName, have, want *v1.ResourceRequirements) bool {
	now, limited := findLimit(have.Limits, name)
	next, willBeLimited := findLimit(want.Limits, name)
	if limited == willBeLimited && now.Cmp(next) == 0 {
		now, next := have.Requests[name], want.Requests[name]
		return next.Cmp(now) < 0
	}
	return willBeLimited && (!limited || next.Cmp(now) < 0)
}

// resourcesInForce returns the resources that a running container has: as the last UpdateContainer steps gave
// them, or else as its published status shows them. The result is false if neither knows the container. After a
// failed step the resources are those that rec reports, if it reports any. published may be nil. The lists must not be
// changed.
func resourcesInForce(published *v1.ContainerStatus, memory *memoryTree, rec *runtime.ContainerStatus, c *v1.Container, want *v1.ResourceRequirements) (have v1.ResourceRequirements, known bool) {
	id := rec.ID
	if updated := memory.findCompact(c.Name).findUpdated(id); updated != nil {
		return *updated.confirmedBy(c, want, rec.Resources), true
	}
	if published == nil || !strings.HasSuffix(published.ContainerID, "://"+id) {
		return have, false
	}
	if published.Resources != nil {
		have = *published.Resources
	}
	return have, true
}

// findPublished returns the published status of the init or regular container at a position of the spec, or nil. A
// status usually has the order of the spec.
func (d *decision) findPublished(position int, name string) *v1.ContainerStatus {
	if d.Published == nil {
		return nil
	}
	list := d.Published.InitContainerStatuses
	if inits := len(d.Pod.Spec.InitContainers); position >= inits {
		list, position = d.Published.ContainerStatuses, position-inits
	}
	if position >= len(list) || list[position].Name != name {
		position = slices.IndexFunc(list, func(s v1.ContainerStatus) bool { return s.Name == name })
	}
	if position < 0 {
		return nil
	}
	return &list[position]
}

// confirmedBy returns the resources, or after a failed step those that the runtime reports. actual may be nil: the
// runtime reports none.
func (u *updatedResources) confirmedBy(c *v1.Container, want *v1.ResourceRequirements, actual *runtime.Resources) *v1.ResourceRequirements {
	if !u.uncertain || actual == nil || actual.CPUShares == 0 {
		return &u.resources
	}
	return adoptResources(c, want, actual)
}

// findUpdated returns the resources that UpdateContainer steps gave to the container with this ID, or nil. The
// ID may have a scheme, as in "containerd://id".
func (s *compactMemory) findUpdated(id string) *updatedResources {
	if s == nil || s.restart == nil || s.restart.updated == nil {
		return nil
	}
	if updated := s.restart.updated; id == updated.id || strings.HasSuffix(id, "://"+updated.id) {
		return updated
	}
	return nil
}

// adoptResources returns the resources that a running container has according to the runtime. It returns want
// if the runtime reports none, or reports the settings that follow from want. The memory request in the result
// is always the request in want, because the runtime does not report it.
func adoptResources(c *v1.Container, want *v1.ResourceRequirements, actual *runtime.Resources) *v1.ResourceRequirements {
	if actual == nil || actual.CPUShares == 0 {
		return want
	}
	have := v1.ResourceRequirements{Requests: maps.Clone(want.Requests), Limits: maps.Clone(want.Limits)}
	equal := true
	set := func(list *v1.ResourceList, name v1.ResourceName, amount resource.Quantity) {
		equal = false
		if *list == nil {
			*list = v1.ResourceList{}
		}
		if (*list)[name] = amount; amount.IsZero() {
			delete(*list, name)
		}
	}
	request := podspec.ContainerRequests(c)
	if _, found := request[v1.ResourceCPU]; !found {
		request = want.Limits // The shares follow from the limit, also from the limit of the pod.
	}
	if milli := podresources.MilliCPUFromShares(int64(actual.CPUShares)); !podresources.EqualCPURequests(podresources.MilliCPU(request), milli) {
		set(&have.Requests, v1.ResourceCPU, *resource.NewMilliQuantity(milli, resource.DecimalSI))
	}
	var limit int64
	if actual.CPUQuota > 0 && actual.CPUPeriod > 0 {
		limit = podresources.MilliCPUFromQuota(actual.CPUQuota, actual.CPUPeriod)
	}
	if !podresources.EqualCPULimits(podresources.MilliCPU(want.Limits), limit) {
		set(&have.Limits, v1.ResourceCPU, *resource.NewMilliQuantity(limit, resource.DecimalSI))
	}
	if bytes := max(actual.MemoryBytes, 0); bytes != max(want.Limits.Memory().Value(), 0) {
		set(&have.Limits, v1.ResourceMemory, *resource.NewQuantity(bytes, resource.BinarySI))
	}
	if equal {
		return want
	}
	return &have
}

// needsRestartToResize reports whether the resources of a running regular container or sidecar differ from its spec in a
// resource for which the spec requires a restart (RZ-34).
func (d *decision) needsRestartToResize(rec *runtime.ContainerStatus, c *v1.Container) bool {
	if !d.Resizes || len(c.ResizePolicy) == 0 || d.Pod.DeletionTimestamp != nil {
		return false
	}
	want := wantedResources(c, podLevelLimits(d.Pod))
	have, known := resourcesInForce(d.findPublished(d.indexOf(c.Name), c.Name), d.Memory.containers, rec, c, want)
	return known && slices.ContainsFunc(c.ResizePolicy, func(p v1.ContainerResizePolicy) bool {
		return p.RestartPolicy == v1.RestartContainer && differsIn(p.ResourceName, &have, want)
	})
}

// addContainerUpdates adds the steps that give the running containers the resources of their specs (RZ-33,
// RZ-35, N37-17). All memory comes before all cpu. For each resource the decreases come first, in the reverse
// order of the spec, so that the sum of the limits does not exceed the limit of the pod in between. A container
// that is stopped by this decision is not updated, and neither is one that has to be restarted later. An init container
// is updated while it runs, so before the pod is initialized (RZ-20, RZ-53).
func (d *decision) addContainerUpdates() {
	if d.Pod.DeletionTimestamp != nil {
		return
	}
	d.addRunningDifferences()
	for _, name := range resizableResources {
		var decreases, increases []Step
		for _, difference := range d.differences {
			want := wantedResources(difference.c, podLevelLimits(d.Pod))
			if !difference.update || !differsIn(name, &difference.have, want) {
				continue
			}
			step := Step{
				Op: UpdateContainer, Reason: WhyResize, ID: difference.rec.ID, Name: difference.c.Name, Container: difference.c, Resource: name,
				Decrease: isDecrease(name, &difference.have, want), inForce: difference.have, podLimits: podLevelLimits(d.Pod),
			}
			if step.Decrease {
				decreases = append(decreases, step)
			} else {
				increases = append(increases, step)
			}
		}
		slices.Reverse(decreases)
		d.updates = append(append(d.updates, decreases...), increases...)
	}
}

// isStopped reports whether this decision stops the container with the ID.
func (d *decision) isStopped(id string) bool {
	return slices.ContainsFunc(d.containerStops, func(s Step) bool { return s.ID == id })
}

// completeResizeConditions sets the condition PodResizeInProgress while a running container or the cgroup of the pod does
// not have the resources of its spec, and removes it afterwards and from a pod that ends. After an error of an
// UpdateContainer step the condition has the reason Error and the message of the error (RZ-46, RZ-47). It keeps
// the generation of the condition in the pod.
func (in *StatusInput) completeResizeConditions(status *v1.PodStatus) {
	if in.isTerminatingTerminatedOrDeleted() || IsTerminal(status.Phase) {
		removeConditions(status, v1.PodResizeInProgress, v1.PodResizePending)
		return
	}
	if !in.isResizing(status) && !in.isResizingCgroup() {
		removeConditions(status, v1.PodResizeInProgress)
		return
	}
	condition := podstatus.FindCondition(status.Conditions, v1.PodResizeInProgress)
	if condition == nil {
		status.Conditions = append(status.Conditions, v1.PodCondition{Type: v1.PodResizeInProgress, Status: v1.ConditionTrue, ObservedGeneration: in.Pod.Generation})
		condition = &status.Conditions[len(status.Conditions)-1]
	}
	if message := in.Memory.ResizeError(); message != "" {
		condition.Reason, condition.Message = v1.PodReasonError, message
	}
}

// removeConditions removes the conditions of the given types from a status. It changes the list of the status.
func removeConditions(status *v1.PodStatus, removed ...v1.PodConditionType) {
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c v1.PodCondition) bool { return slices.Contains(removed, c.Type) })
}

// setPodResources sets the resources of a pod with resources of its own (RZ-51): the allocated requests, and the
// requests and limits that its cgroup has. Without a cgroup they are the ones in the spec, and the published ones while a
// resize is in progress.
func (in *StatusInput) setPodResources(status *v1.PodStatus) {
	if in.Pod.Spec.Resources == nil {
		return
	}
	withoutOverhead := v1.Pod{Spec: in.Pod.Spec}
	withoutOverhead.Spec.Overhead = nil
	status.AllocatedResources = podspec.Requests(&withoutOverhead)
	if in.PodValues != nil {
		actual := podresources.ActualResources(in.Pod, *in.PodValues)
		status.Resources = &actual
		return
	}
	status.Resources = &v1.ResourceRequirements{Requests: in.Pod.Spec.Resources.Requests, Limits: in.Pod.Spec.Resources.Limits}
	if in.Old.Resources != nil && podstatus.FindCondition(status.Conditions, v1.PodResizeInProgress) != nil {
		status.Resources = in.Old.Resources
	}
}

// isResizingCgroup reports whether the cgroup of a pod, for which a resize is announced, keeps a larger limit or does not
// have the resources of the pod yet.
func (in *StatusInput) isResizingCgroup() bool {
	if !in.Resizes || !in.Memory.isAnnouncedResizeIncomplete(in.Pod) {
		return false
	}
	if in.Memory.resize != nil && in.Memory.resize.cgroupMessage != "" {
		return true
	}
	if in.PodValues == nil || in.Pod.Spec.Resources == nil {
		return false
	}
	actual := podresources.ActualResources(in.Pod, *in.PodValues)
	return needsResize(&actual, in.Pod.Spec.Resources)
}

// isResizing reports whether a running init or regular container in a status does not have the resources of its
// spec.
func (in *StatusInput) isResizing(status *v1.PodStatus) bool {
	if !in.Resizes {
		return false
	}
	for _, lists := range [...]struct {
		statuses   []v1.ContainerStatus
		containers []v1.Container
	}{{status.InitContainerStatuses, in.Pod.Spec.InitContainers}, {status.ContainerStatuses, in.Pod.Spec.Containers}} {
		for i := range lists.statuses {
			s := &lists.statuses[i]
			at := slices.IndexFunc(lists.containers, func(c v1.Container) bool { return c.Name == s.Name })
			if s.State.Running == nil || at < 0 {
				continue
			}
			have := s.Resources
			if have == nil {
				have = &v1.ResourceRequirements{}
			}
			want := wantedResources(&lists.containers[at], podLevelLimits(in.Pod))
			if needsResize(have, want) {
				return true
			}
		}
	}
	return false
}

// Limit returns the limit of the resource of an UpdateContainer step, and false if the container should have
// none. It counts the limit of the pod for a container without a limit of its own.
func (s *Step) Limit() (resource.Quantity, bool) {
	if s.Container == nil {
		return resource.Quantity{}, false
	}
	return findLimit(wantedResources(s.Container, s.podLimits).Limits, s.Resource)
}
