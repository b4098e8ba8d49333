//go:build peer

package main

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// few is the number of pods of most rows, and many the number of pods of the rows about size.
const (
	few  = 1_000
	many = 10_000
)

// prepareBusy keeps all pods in their first SyncPod.
func prepareBusy(d driver) (measure func() figure, cleanup func()) {
	pods, begun, release := makePods(few), make(chan struct{}, 2*few), make(chan struct{})
	c := newCrew(pods, func(types.UID) { begun <- struct{}{}; <-release }, nil, d.newWorkers)
	for _, pod := range pods {
		c.sendUpdate(pod, createPod)
	}
	receiveAll(begun, few)
	measure = func() figure {
		const each = 100
		return measureProcessorTime(each*few, func() {
			for range each {
				for _, pod := range pods {
					c.sendUpdate(pod, updatePod)
				}
			}
		})
	}
	return measure, func() {
		close(release)
		receiveAll(begun, few) // All updates of a busy pod are one more SyncPod.
		receiveAll(c.synced, 2*few)
		c.killPodsAndStop()
	}
}

// prepareDispatch makes idle pods.
func prepareDispatch(d driver) (measure func() figure, cleanup func()) {
	c := newCrew(makePods(few), nil, nil, d.newWorkers)
	c.createPods()
	measure = func() figure {
		const each = 20
		return measureProcessorTime(each*few, func() {
			for range each {
				for _, pod := range c.pods {
					c.sendUpdate(pod, updatePod)
					<-c.synced
				}
			}
		})
	}
	return measure, c.killPodsAndStop
}

// prepareLife makes workers without pods.
func prepareLife(d driver) (measure func() figure, cleanup func()) {
	c := newCrew(makePods(few), nil, nil, d.newWorkers)
	measure = func() figure {
		return measureProcessorTime(few, func() {
			for _, pod := range c.pods {
				c.sendUpdate(pod, createPod)
				<-c.synced
				c.sendUpdate(pod, killPod)
				<-c.terminated
			}
			c.forgetPods()
		})
	}
	return measure, c.stopWorkers
}

// prepareMemory prepares nothing: each round makes and removes pods.
func prepareMemory(d driver) (measure func() figure, cleanup func()) {
	pods := makePods(many)
	measure = func() figure {
		before := readMemoryUse()
		c := newCrew(pods, nil, nil, d.newWorkers)
		c.createPods()
		awaitIdle()
		after := readMemoryUse()
		c.killPodsAndStop()
		return figure{value: float64(after-before) / many, allocs: -1}
	}
	return measure, func() {}
}

// prepareGoroutines prepares nothing: each round makes and removes pods.
func prepareGoroutines(d driver) (measure func() figure, cleanup func()) {
	pods := makePods(few)
	measure = func() figure {
		before := awaitIdle()
		c := newCrew(pods, nil, nil, d.newWorkers)
		c.createPods()
		after := awaitIdle()
		c.killPodsAndStop()
		return figure{value: float64(after - before), allocs: -1}
	}
	return measure, func() {}
}

// prepareQueue fills a queue.
func prepareQueue(d driver) (measure func() figure, cleanup func()) {
	q := d.newQueue()
	for i := range many {
		q.enqueue(podUID(i), false)
	}
	measure = func() figure {
		const calls = 500
		return measureProcessorTime(calls, func() {
			for range calls {
				exitUnlessEqual("due pods", len(q.takeDue()), 0)
			}
		})
	}
	return measure, func() {}
}

// prepareMass makes workers that read a PLEG. Each round starts all pods and then kills them. It measures the kills if
// kill is true, and otherwise the starts.
func prepareMass(kill bool) func(d driver) (measure func() figure, cleanup func()) {
	return func(d driver) (measure func() figure, cleanup func()) {
		r := newRuntime()
		c := newCrew(makePods(few), r.startPod, r.stopPod, func(s syncer) podWorkers { return d.newNode(s, r) })
		measure = func() figure {
			started := measureElapsedTime(1, c.createPods)
			time.Sleep(relistPause) // So that no pod waits for the observation of its start.
			killed := measureElapsedTime(1, c.killPods)
			c.forgetPods()
			r.removePods()
			time.Sleep(relistPause)
			if kill {
				return killed
			}
			return started
		}
		return measure, c.stopWorkers
	}
}

// relistPause is longer than the period of a relist.
const relistPause = 1500 * time.Millisecond
