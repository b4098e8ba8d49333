//go:build peer

package main

import (
	"runtime"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// crew are pod workers of some pods, and the calls of their syncer.
type crew struct {
	podWorkers
	pods               []*v1.Pod
	synced, terminated chan types.UID
}

// newCrew starts workers without pods. Each SyncPod calls onSync, and each SyncTerminatingPod calls onTerminating. Nil
// is not called.
func newCrew(pods []*v1.Pod, onSync, onTerminating func(types.UID), start func(syncer) podWorkers) *crew {
	c := &crew{pods: pods, synced: make(chan types.UID, 2*len(pods)), terminated: make(chan types.UID, len(pods))}
	c.podWorkers = start(syncer{
		syncPod: func(uid types.UID) {
			if onSync != nil {
				onSync(uid)
			}
			c.synced <- uid
		},
		terminating: func(uid types.UID) {
			if onTerminating != nil {
				onTerminating(uid)
			}
		},
		terminated: func(uid types.UID) { c.terminated <- uid },
	})
	return c
}

// create creates all pods and waits until each was synced.
func (c *crew) create() {
	for _, pod := range c.pods {
		c.update(pod, createPod)
	}
	receiveAll(c.synced, len(c.pods))
}

// kill kills all pods and waits until each is terminated.
func (c *crew) kill() {
	for _, pod := range c.pods {
		c.update(pod, killPod)
	}
	receiveAll(c.terminated, len(c.pods))
}

// forgetAll removes the records of all pods, which are terminated.
func (c *crew) forgetAll() {
	for c.forget() > 0 {
		runtime.Gosched() // The last worker has not stored yet that its pod is finished.
	}
}

// dismiss kills and forgets all pods, and stops the workers.
func (c *crew) dismiss() {
	c.kill()
	c.forgetAll()
	c.stop()
}

// receiveAll receives n values.
func receiveAll[T any](from <-chan T, n int) {
	for range n {
		<-from
	}
}
