package plan

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
)

// runningDifference is a running container, or one that may be starting, whose resources differ from its spec.
type runningDifference struct {
	rec    *runtime.ContainerStatus
	c      *v1.Container
	have   v1.ResourceRequirements
	update bool // the decision has UpdateContainer steps for it
}

// addRunningDifferences finds the running and the created containers whose resources differ from their specs, apart
// from those that this decision stops.
func (d *decision) addRunningDifferences() {
	limits := podLevelLimits(d.Pod)
	for i := range d.count {
		e := d.entryAt(i)
		if e.runningHere == nil || d.isStopped(e.runningHere.ID) {
			d.addCreatedDifferences(e, limits)
			continue
		}
		c := e.spec
		if c == nil {
			if len(limits) == 0 {
				continue
			}
			// An ephemeral container has the limits that the pod had when it started, and is never updated.
			c = &v1.Container{Name: e.runningHere.Name}
		}
		want := wantedResources(c, limits)
		have, known := resourcesInForce(d.findPublished(i, c.Name), d.Memory.containers, e.runningHere, c, want)
		update := known && e.spec != nil && d.Resizes && !d.waitsForRestart(e.runningHere, c)
		if !known || e.spec == nil {
			have = *adoptResources(c, want, e.runningHere.Resources)
		}
		if needsResize(&have, want) {
			d.differences = append(d.differences, runningDifference{e.runningHere, c, have, update})
		}
	}
}

// waitsForRestart reports whether a running container gets its resources by a restart that this decision does not make,
// for example because its startup probe has not succeeded. An ordinary init container is never restarted for that.
func (d *decision) waitsForRestart(rec *runtime.ContainerStatus, c *v1.Container) bool {
	isOrdinaryInit := d.indexOf(c.Name) < len(d.Pod.Spec.InitContainers) && !podspec.IsSidecar(c)
	return !isOrdinaryInit && d.needsRestartToResize(rec, c)
}

// addCreatedDifferences adds the created containers of an entry whose resources differ from the spec. An earlier agent
// may have called their start, which may still come, and nothing updates them.
func (d *decision) addCreatedDifferences(e *containerEntry, limits v1.ResourceList) {
	if !e.hasCreated || e.spec == nil {
		return
	}
	want := wantedResources(e.spec, limits)
	for rec := range d.recordsOf(e) {
		if rec.State != runtime.StateCreated || rec.SandboxID != d.sandboxID {
			continue
		}
		if have := adoptResources(e.spec, want, rec.Resources); needsResize(have, want) {
			d.differences = append(d.differences, runningDifference{rec: rec, c: e.spec, have: *have})
		}
	}
}

// RaisedPod returns a copy of the pod with the resources that the cgroup of the pod needs. Each running container
// has the larger of the requests and limits that it has and should have, and a limit of the pod is at least the
// limit that each container has. No limit is larger than any limit. Without them cgroup v1 refuses the limit of the
// pod, because a container has more. With afterUpdates the containers with UpdateContainer steps count as updated.
// Others are updated by a later decision or when they restart, for example if the runtime cannot update containers.
// The copy has the QoS class of the pod in its status, because the class decides which cgroup the pod has, and larger
// amounts alone could have another class. RaisedPod returns the pod itself if nothing differs.
func (d *Decision) RaisedPod(pod *v1.Pod, afterUpdates bool) *v1.Pod {
	raised := pod
	for _, difference := range d.differences {
		if afterUpdates && difference.update {
			continue
		}
		if raised == pod {
			raised = pod.DeepCopy()
			raised.Status.QOSClass = cmp.Or(pod.Status.QOSClass, podspec.QOSClass(pod))
		}
		if c := podspec.FindContainer(podspec.AllContainers(raised), difference.c.Name); c != nil {
			raiseResources(&c.Resources, &difference.have)
		}
		raisePodLimits(podLevelLimits(raised), difference.have.Limits, difference.update)
	}
	return raised
}

// raisePodLimits raises the limits of a pod to those that a container has. If the container has no limit and gets one,
// the pod has none before: the container is checked first whether it uses more memory (RZ-40). A container without a
// limit that is not updated may run in a pod with one.
func raisePodLimits(limits, have v1.ResourceList, updated bool) {
	for _, name := range resizableResources {
		now, limited := findLimit(limits, name)
		switch amount, found := findLimit(have, name); {
		case !limited:
		case !found && updated:
			delete(limits, name)
		case found && amount.Cmp(now) > 0:
			limits[name] = amount
		}
	}
}

// raiseResources raises the cpu and memory in want to those in have. A limit that have does not have is removed
// from want.
func raiseResources(want, have *v1.ResourceRequirements) {
	for _, name := range resizableResources {
		if amount, found := have.Requests[name]; found {
			if now := want.Requests[name]; amount.Cmp(now) > 0 {
				if want.Requests == nil {
					want.Requests = v1.ResourceList{}
				}
				want.Requests[name] = amount
			}
		}
		now, limited := findLimit(want.Limits, name)
		if amount, found := findLimit(have.Limits, name); limited && (!found || amount.Cmp(now) > 0) {
			if want.Limits[name] = amount; !found {
				delete(want.Limits, name)
			}
		}
	}
}

// findLimit returns the limit of a resource in a list, and false if the list has none. A limit of zero is no limit.
func findLimit(limits v1.ResourceList, name v1.ResourceName) (limit resource.Quantity, limited bool) {
	limit = limits[name]
	return limit, !limit.IsZero()
}
