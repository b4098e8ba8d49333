package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// isRestartingAll reports whether all containers of the pod are being restarted. It is true from the exit that
// triggers the restart until a container has a new record, and false for a terminal or deleted pod (P32).
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
		if c := specContainerAt(&in.Pod.Spec, i); recordRestartsAll(c, rec) && !isRecordOfOlderAttempt(old[:], c.Name, rec) {
			return true
		}
		any = true
	}
	return !any && podstatus.IsConditionTrue(in.Old.Conditions, v1.AllContainersRestarting)
}

// isRecordOfOlderAttempt reports whether the newest attempt that the runtime shows of a container is older than
// the published attempt, which the runtime has lost. It returns false if no status of the container is
// published.
func isRecordOfOlderAttempt(published []podspec.Index[v1.ContainerStatus], name string, newest *runtime.ContainerStatus) bool {
	for i := range published {
		if old := published[i].Find(name, 0); old != nil {
			return isPublishedAttemptLost(newest, old)
		}
	}
	return false
}

// specContainerAt returns the container at a position of the spec, where the regular containers follow the init
// containers.
func specContainerAt(spec *v1.PodSpec, place int) *v1.Container {
	if first := len(spec.InitContainers); place >= first {
		return &spec.Containers[place-first]
	}
	return &spec.InitContainers[place]
}
