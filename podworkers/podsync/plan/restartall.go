package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// isRestartingAll reports whether all containers of a pod are restarting: from the exit that
// triggers the restart until a container has a record again (P32). The record of that exit is
// removed last.
func isRestartingAll(in *StatusInput) bool {
	if in.Terminal || in.Pod.DeletionTimestamp != nil || !podstatus.MayRestartAll(in.Pod) {
		return false
	}
	var x containerRecords
	x.readRecords(in)
	old := [...]podspec.Index[v1.ContainerStatus]{podspec.StatusIndex(in.Old.InitContainerStatuses), podspec.StatusIndex(in.Old.ContainerStatuses)}
	any := false
	for i := range x.ephemeral {
		rec, _ := x.recordsAt(i)
		if rec == nil || in.sandboxes.current != nil && rec.SandboxID != in.sandboxes.current.ID {
			continue
		}
		if c := specContainerAt(&in.Pod.Spec, i); recordRestartsAll(c, rec) && !isRecordOutdated(old[:], c.Name, rec) {
			return true
		}
		any = true
	}
	return !any && podstatus.IsConditionTrue(in.Old.Conditions, v1.AllContainersRestarting)
}

// isRecordOutdated reports whether the newest record of a container belongs to an older attempt
// than the published one.
func isRecordOutdated(published []podspec.Index[v1.ContainerStatus], name string, newest *runtime.ContainerStatus) bool {
	for i := range published {
		if old := published[i].Find(name, 0); old != nil {
			return isPublishedAttemptLost(newest, old)
		}
	}
	return false
}

// specContainerAt returns the init or regular container at a position of the spec.
func specContainerAt(spec *v1.PodSpec, place int) *v1.Container {
	if first := len(spec.InitContainers); place >= first {
		return &spec.Containers[place-first]
	}
	return &spec.InitContainers[place]
}
