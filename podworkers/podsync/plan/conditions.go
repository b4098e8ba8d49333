package plan

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// owned are the conditions that we write; all others belong to somebody else.
var owned = [...]v1.PodConditionType{
	v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled,
	v1.AllContainersRestarting,
}

// podConditions are ours, then those of others as they came with the pod. Their
// transition times are for whoever stores the status to set.
func podConditions(s *v1.PodStatus, in *StatusInput) []v1.PodCondition {
	containers := podstatus.ContainersReady(in.Pod, s)
	var room [8]v1.PodCondition
	ours := append(room[:0], readyToStart(in.place), podstatus.Initialized(in.Pod, s),
		podstatus.Ready(in.Pod, in.Pod.Status.Conditions, containers), containers,
		v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue})
	if podstatus.MayRestartAll(in.Pod) {
		ours = append(ours, restarting(in))
	}
	for i := range ours {
		ours[i].ObservedGeneration = in.Pod.Generation
	}
	for i := range in.Old.Conditions {
		if c := &in.Old.Conditions[i]; c.Type == v1.DisruptionTarget {
			ours = append(ours, *c)
		}
	}
	for i := range in.Pod.Status.Conditions {
		if c := &in.Pod.Status.Conditions[i]; c.Type != v1.DisruptionTarget && !isOwned(c.Type) {
			ours = append(ours, *c)
		}
	}
	if in.given && sameConditions(ours, in.Old.Conditions) {
		return in.Old.Conditions
	}
	return slices.Clone(ours)
}

// sameConditions reports whether the published conditions are what would be made
// again, transition times of ours apart.
func sameConditions(made, published []v1.PodCondition) bool {
	if len(made) != len(published) {
		return false
	}
	for i := range made {
		a, b := &made[i], &published[i]
		if a.Type != b.Type || a.Status != b.Status || a.Reason != b.Reason || a.Message != b.Message ||
			a.ObservedGeneration != b.ObservedGeneration || !a.LastProbeTime.Time.Equal(b.LastProbeTime.Time) ||
			!isOwned(a.Type) && !a.LastTransitionTime.Time.Equal(b.LastTransitionTime.Time) {
			return false
		}
	}
	return true
}

func isOwned(t v1.PodConditionType) bool {
	for _, o := range owned {
		if t == o {
			return true
		}
	}
	return false
}

// readyToStart says whether the sandbox is one in which containers can start.
func readyToStart(sandbox place) v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: v1.ConditionFalse}
	if sandbox.replace == "" {
		c.Status = v1.ConditionTrue
	}
	return c
}

// reasonAllStarted is the reason for which all containers are restarting.
const reasonAllStarted = "RestartAllContainersStarted"

// restarting says whether all containers are beginning anew.
func restarting(in *StatusInput) v1.PodCondition {
	c := v1.PodCondition{Type: v1.AllContainersRestarting, Status: v1.ConditionFalse}
	if in.anew {
		c.Status, c.Reason = v1.ConditionTrue, reasonAllStarted
	}
	return c
}

// restartingAll reports whether all containers of a pod are beginning anew: as
// long as the record is there of one that ended so as to cause it, which is
// removed last, and then until there is a record again. [P32]
func restartingAll(in *StatusInput) bool {
	if in.Terminal || in.Pod.DeletionTimestamp != nil || !podstatus.MayRestartAll(in.Pod) {
		return false
	}
	var x sightings
	x.read(in)
	any := false
	for i := range x.ephemeral {
		rec, _ := x.at(i)
		if rec == nil || in.place.current != nil && rec.SandboxID != in.place.current.ID {
			continue
		}
		if c := containerAt(&in.Pod.Spec, i); restartsAll(c, rec) && !in.isOutdated(c.Name, rec) {
			return true
		}
		any = true
	}
	return !any && podstatus.IsConditionTrue(in.Old.Conditions, v1.AllContainersRestarting)
}

// isOutdated reports whether the newest record of a container is that of an older
// attempt than was published.
func (in *StatusInput) isOutdated(name string, newest *runtime.ContainerStatus) bool {
	for _, list := range [...][]v1.ContainerStatus{in.Old.InitContainerStatuses, in.Old.ContainerStatuses} {
		if old := findAt(list, name, 0); old != nil {
			return isLost(newest, old)
		}
	}
	return false
}

// containerAt is the container at a place of the spec, ephemeral ones apart.
func containerAt(spec *v1.PodSpec, place int) *v1.Container {
	if first := len(spec.InitContainers); place >= first {
		return &spec.Containers[place-first]
	}
	return &spec.InitContainers[place]
}
