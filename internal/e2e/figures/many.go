//go:build linux

package main

import (
	"errors"
	"sync"
	"time"
)

// measureManyPods measures r.tries times how long r.many pods take to start and to stop, by direct CRI calls
// and by the agent. It adds both results to the table.
func (r *run) measureManyPods() {
	var started, removed sample
	before := loadAverage()
	for i := range r.tries {
		f := r.harness.measureManyByCRI()
		o := r.harness.measureCrowd()
		r.logIfVerbose("try %d: start %v %v, remove %v %v", i, f[0], o[0], f[1], o[1])
		started.addRound(f[0], o[0])
		removed.addRound(f[1], o[1])
	}
	loads := before + " to " + loadAverage()
	r.table.addComparisonRow(itoa(r.many)+" pods written at once → all running", started, atMostTarget(3*time.Second), loads)
	r.table.addComparisonRow(itoa(r.many)+" pods removed at once → all stopped", removed, atMostTarget(2*time.Second), loads)
}

func (w *harness) measureCrowd() (took [2]time.Duration) {
	names := make([]string, w.r.many)
	began := time.Now()
	for i := range names {
		names[i] = w.nextName("crowd")
		w.writeManifest(names[i])
	}
	took[0] = w.waitForRunningCount(began, w.agentSelector(), len(names))
	w.sleepUnlessInterrupted(settle)
	began = time.Now()
	for _, name := range names {
		w.removeManifest(name)
	}
	took[1] = w.waitForRunningCount(began, w.agentSelector(), 0)
	w.mustWaitUntil(began, "the agent has let go of all", func() bool {
		pods, err := w.agent.Pods()
		return err == nil && len(pods) == 0
	})
	w.sleepUnlessInterrupted(2 * time.Second) // The cleanup removes the rest.
	return took
}

// waitForRunningCount waits until exactly n running containers and n ready sandboxes match the selector. It returns
// the time since began.
func (w *harness) waitForRunningCount(began time.Time, selector map[string]string, n int) time.Duration {
	return w.mustWaitUntil(began, itoa(n)+" pods", func() bool {
		containers, sandboxes := w.listRunning(selector)
		return len(containers) == n && sandboxes == n
	})
}

// measureManyByCRI runs r.many pods at once with direct CRI calls, stops and removes them, and returns how long
// the start and the stop took.
func (w *harness) measureManyByCRI() (took [2]time.Duration) {
	pods := make([]*bare, w.r.many)
	for i := range pods {
		pods[i] = w.newCRIPodWithFiles(w.nextName("bare"))
	}
	began := time.Now()
	w.runWhileWatching(func() error { return forEachPodConcurrently(pods, (*bare).runSandboxAndContainer) }, func() { took[0] = w.waitForRunningCount(began, theirs, len(pods)) })
	w.sleepUnlessInterrupted(settle)
	began = time.Now()
	w.runWhileWatching(func() error { return forEachPodConcurrently(pods, (*bare).stopContainerAndSandbox) }, func() { took[1] = w.waitForRunningCount(began, theirs, 0) })
	w.failOnError(forEachPodConcurrently(pods, (*bare).removeSandbox))
	w.sleepUnlessInterrupted(time.Second)
	return took
}

// forEachPodConcurrently calls do for every pod concurrently, waits for all, and returns the joined errors.
func forEachPodConcurrently(pods []*bare, do func(*bare) error) error {
	var group sync.WaitGroup
	errs := make([]error, len(pods))
	for i := range pods {
		group.Go(func() { errs[i] = do(pods[i]) })
	}
	group.Wait()
	return errors.Join(errs...)
}
