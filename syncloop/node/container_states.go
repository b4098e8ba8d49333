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

// SaveContainers implements podsync.ContainerStates. A failed save is retried later.
func (c *containerStates) SaveContainers(pod *v1.Pod, states []podsync.ContainerState) error {
	return c.applyNow(pod.UID, func() error { return c.save(pod, states) }, c.delayedSave(pod, states))
}

// SaveContainersAt implements podsync.DelayedContainerStates.
func (c *containerStates) SaveContainersAt(pod *v1.Pod, states []podsync.ContainerState, at time.Time) {
	c.postpone(pod.UID, at, c.delayedSave(pod, states))
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

// save saves states. A panic of the store is returned as an error.
func (c *containerStates) save(pod *v1.Pod, states []podsync.ContainerState) (err error) {
	defer c.guard.Recover("ContainerStates.SaveContainers", &err)
	return c.ContainerStates.SaveContainers(pod, states)
}

// delayedSave returns a function that saves the states, unless the pod is unknown by then.
func (c *containerStates) delayedSave(pod *v1.Pod, states []podsync.ContainerState) func() error {
	return func() error {
		if !c.isKnown(pod.UID) {
			return nil
		}
		err := c.save(pod, states)
		if err != nil {
			c.log.Debug("cannot save the container states of a pod; retrying", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
		}
		return err
	}
}

// DropContainers implements podsync.ContainerStates. A failed drop is retried later.
func (c *containerStates) DropContainers(uid types.UID) error {
	drop := func() (err error) {
		defer c.guard.Recover("ContainerStates.DropContainers", &err)
		return c.ContainerStates.DropContainers(uid)
	}
	return c.applyNow(uid, drop, drop)
}

// Remove drops the stored states of a removed pod. The collector of directories calls it. It uses the
// Remove method of Config.Pods.ContainerStates, if the store has it.
func (c *containerStates) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	leave, err := c.lockPod(ctx, uid)
	if err != nil {
		return err
	}
	defer leave()
	if !gone(uid) {
		return nil
	}
	c.cancelPending(uid)
	if r, ok := c.ContainerStates.(conditionalRemover); ok {
		return r.Remove(ctx, uid, gone)
	}
	return c.ContainerStates.DropContainers(uid)
}
