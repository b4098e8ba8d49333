package node

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync"
)

// containerStates is Config.Pods.ContainerStates with delayed saves and retries. It makes the saves
// that the PodSyncer postpones when they are due, and retries failed saves with a backoff, without a
// sync of the pod.
type containerStates struct {
	ContainerStates
	*saver
	isKnown func(types.UID) bool
}

var _ podsync.DelayedContainerStates = (*containerStates)(nil)

// SaveContainers implements podsync.ContainerStates. If the store fails, Run tries to save the states again
// later.
func (c *containerStates) SaveContainers(pod *v1.Pod, states []podsync.ContainerState) error {
	return c.applyNowOrRetryLater(pod.UID, func() error { return c.saveRecoveringPanic(pod, states) }, c.newDelayedSave(pod, states))
}

// SaveContainersAt implements podsync.DelayedContainerStates.
func (c *containerStates) SaveContainersAt(pod *v1.Pod, states []podsync.ContainerState, at time.Time) {
	c.setPendingChange(pod.UID, at, c.newDelayedSave(pod, states))
}

// CancelSaveContainers implements podsync.DelayedContainerStates. It waits for a running save of the
// pod.
func (c *containerStates) CancelSaveContainers(uid types.UID) (unsaved bool) {
	leave, err := c.lockPod(context.Background(), uid) // The other call returns eventually.
	if err != nil {
		return true
	}
	defer leave()
	return c.cancelPending(uid)
}

// saveRecoveringPanic saves the container states of a pod in the store of the Config. It returns a panic of the
// store as an error.
func (c *containerStates) saveRecoveringPanic(pod *v1.Pod, states []podsync.ContainerState) (err error) {
	defer c.guard.Recover("ContainerStates.SaveContainers", &err)
	return c.ContainerStates.SaveContainers(pod, states)
}

// newDelayedSave returns a function that saves the states when it is called. The function does nothing if the
// pod is then neither desired nor has a worker. It logs and returns an error of the store.
func (c *containerStates) newDelayedSave(pod *v1.Pod, states []podsync.ContainerState) func() error {
	return func() error {
		if !c.isKnown(pod.UID) {
			return nil
		}
		err := c.saveRecoveringPanic(pod, states)
		if err != nil {
			c.log.Debug("cannot save the container states of a pod; retrying", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
		}
		return err
	}
}

// DropContainers implements podsync.ContainerStates. If the store fails, Run tries to delete the states again
// later.
func (c *containerStates) DropContainers(uid types.UID) error {
	drop := func() (err error) {
		defer c.guard.Recover("ContainerStates.DropContainers", &err)
		return c.ContainerStates.DropContainers(uid)
	}
	return c.applyNowOrRetryLater(uid, drop, drop)
}

// Remove deletes the stored states of a pod if gone returns true for it, and cancels its pending save. The collector of
// directories calls it.
func (c *containerStates) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	return c.removeIfGone(ctx, uid, gone, c.ContainerStates, c.ContainerStates.DropContainers)
}
