package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// restartingAll reports whether all containers of a pod are beginning anew: as
// long as the record is there of one that ended so as to cause it, which is
// removed last, and then until there is a record again. [P32]
func restartingAll(in *StatusInput) bool {
	if in.Terminal || in.Pod.DeletionTimestamp != nil || !podstatus.MayRestartAll(in.Pod) {
		return false
	}
	var x containerRecords
	x.read(in)
	old := [...]podspec.Index[v1.ContainerStatus]{podspec.StatusIndex(in.Old.InitContainerStatuses), podspec.StatusIndex(in.Old.ContainerStatuses)}
	any := false
	for i := range x.ephemeral {
		rec, _ := x.at(i)
		if rec == nil || in.place.current != nil && rec.SandboxID != in.place.current.ID {
			continue
		}
		if c := containerAt(&in.Pod.Spec, i); restartsAll(c, rec) && !isOutdated(old[:], c.Name, rec) {
			return true
		}
		any = true
	}
	return !any && podstatus.IsConditionTrue(in.Old.Conditions, v1.AllContainersRestarting)
}

// isOutdated reports whether the newest record of a container is that of an older
// attempt than was published.
func isOutdated(published []podspec.Index[v1.ContainerStatus], name string, newest *runtime.ContainerStatus) bool {
	for i := range published {
		if old := published[i].Find(name, 0); old != nil {
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
