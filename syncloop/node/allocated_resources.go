package node

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// allocatedResources is Config.Pods.AllocatedResources with saves in the background and retries. The loop only
// requests a save. The newest request of a pod replaces an older one, and the saves of one pod never overlap.
type allocatedResources struct {
	AllocatedResources
	*saver
	isKnown func(types.UID) bool
}

func newAllocatedResources(store AllocatedResources, guard *contain.Guard, isKnown func(types.UID) bool, clk clock.Clock) *allocatedResources {
	return &allocatedResources{AllocatedResources: store, saver: newSaver(guard, clk), isKnown: isKnown}
}

// requestSave makes Run save the allocated resources of a pod soon, and returns at once. Run does not save them
// if the pod is then neither desired nor has a worker. It retries after an error, and logs the first one.
func (a *allocatedResources) requestSave(pod *v1.Pod, resources allocation.PodResources) {
	logged := false
	a.setPendingChange(pod.UID, a.executor.Now(), func() error {
		if !a.isKnown(pod.UID) {
			return nil
		}
		err := a.saveRecoveringPanic(pod, resources)
		if err != nil && !logged {
			logged = true
			a.log.Error("cannot save the allocated resources of a pod; retrying: if the agent restarts before, the pod counts with the resources that it requests", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
		}
		return err
	})
}

// saveRecoveringPanic saves the allocated resources of a pod in the store of the Config. It returns a panic of
// the store as an error.
func (a *allocatedResources) saveRecoveringPanic(pod *v1.Pod, resources allocation.PodResources) (err error) {
	defer a.guard.Recover("AllocatedResources.SaveResources", &err)
	return a.SaveResources(pod, resources)
}

// Remove deletes the stored resources of a pod if gone returns true for it, and cancels its pending save. The collector of
// directories calls it.
func (a *allocatedResources) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	return a.removeIfGone(ctx, uid, gone, a.AllocatedResources, a.AllocatedResources.DropResources)
}
