//go:build peer

package main

import (
	"runtime"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// crew has pod workers and their pods. The channels receive the pods of the syncer's calls.
type crew struct {
	podWorkers
	pods               []*v1.Pod
	synced, terminated chan types.UID
}

// newCrew starts workers without pods. Each SyncPod calls onSync, and each SyncTerminatingPod calls onTerminating. A nil
// function is skipped.
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

// createPods creates all pods and waits until each was synced.
func (c *crew) createPods() {
	for _, pod := range c.pods {
		c.sendUpdate(pod, createPod)
	}
	receiveAll(c.synced, len(c.pods))
}

// killPods kills all pods and waits until each is terminated.
func (c *crew) killPods() {
	for _, pod := range c.pods {
		c.sendUpdate(pod, killPod)
	}
	receiveAll(c.terminated, len(c.pods))
}

// forgetPods removes the records of all pods. All pods must be terminated.
func (c *crew) forgetPods() {
	for c.forgetFinished() > 0 {
		runtime.Gosched() // The worker of the last pod may store later that the pod is finished.
	}
}

// killPodsAndStop kills all pods, removes their records, and stops the workers.
func (c *crew) killPodsAndStop() {
	c.killPods()
	c.forgetPods()
	c.stopWorkers()
}

// receiveAll receives n values.
func receiveAll[T any](from <-chan T, n int) {
	for range n {
		<-from
	}
}
