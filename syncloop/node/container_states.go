package node

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync"
)

// containerStates is Config.ContainerStates. It saves at its time what the PodSyncer puts off,
// and tries again with a backoff what could not be saved. No pod is synced for that.
type containerStates struct {
	ContainerStates
	*saver
	known func(types.UID) bool
}

var _ podsync.DelayedContainerStates = (*containerStates)(nil)

// SaveContainers implements podsync.ContainerStates. After an error it is tried again later.
func (c *containerStates) SaveContainers(pod *v1.Pod, states []podsync.ContainerState) error {
	return c.change(pod.UID, func() error { return c.save(pod, states) }, c.later(pod, states))
}

// SaveContainersAt implements podsync.DelayedContainerStates.
func (c *containerStates) SaveContainersAt(pod *v1.Pod, states []podsync.ContainerState, at time.Time) {
	c.put(pod.UID, at, c.later(pod, states))
}

// CancelSaveContainers implements podsync.DelayedContainerStates. It waits for a save of the pod
// that is under way.
func (c *containerStates) CancelSaveContainers(uid types.UID) (unsaved bool) {
	leave, err := c.enter(context.Background(), uid) // The other call has an end.
	if err != nil {
		return true
	}
	defer leave()
	return c.forget(uid)
}

// save hands states over; a panic there is an error, after which it is tried again.
func (c *containerStates) save(pod *v1.Pod, states []podsync.ContainerState) (err error) {
	defer c.guard.Recover("ContainerStates.SaveContainers", &err)
	return c.ContainerStates.SaveContainers(pod, states)
}

// later returns what saves states later, unless their pod is gone.
func (c *containerStates) later(pod *v1.Pod, states []podsync.ContainerState) func() error {
	return func() error {
		if !c.known(pod.UID) {
			return nil
		}
		err := c.save(pod, states)
		if err != nil {
			c.log.Debug("what is known of the containers of a pod could still not be kept", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
		}
		return err
	}
}

// DropContainers implements podsync.ContainerStates. After an error it is tried again later.
func (c *containerStates) DropContainers(uid types.UID) error {
	drop := func() (err error) {
		defer c.guard.Recover("ContainerStates.DropContainers", &err)
		return c.ContainerStates.DropContainers(uid)
	}
	return c.change(uid, drop, drop)
}

// Remove drops what is kept of the containers of a pod that is gone, for the collector of
// directories, by the means that there are.
func (c *containerStates) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	leave, err := c.enter(ctx, uid)
	if err != nil {
		return err
	}
	defer leave()
	if !gone(uid) {
		return nil
	}
	c.forget(uid)
	if r, ok := c.ContainerStates.(remover); ok {
		return r.Remove(ctx, uid, gone)
	}
	return c.ContainerStates.DropContainers(uid)
}
