//go:build linux

package main

import (
	"time"

	"github.com/podkeel/podkeel/internal/e2e"
)

// settle is how long the machine may calm down between two tries.
const settle = 300 * time.Millisecond

// measureSinglePods measures start, container replacement and removal of single pods, by direct CRI calls and
// by the agent, and adds both results to the table. The first of r.tries+1 rounds does not count.
func (r *run) measureSinglePods() {
	var started, replaced, removed sample
	before := loadAverage()
	for i := range r.tries + 1 { // The first round warms up caches.
		f := r.harness.measureLifeByCRI()
		o := r.harness.measureLifeByAgent()
		r.logIfVerbose("try %d: start %v %v, replace %v %v, remove %v %v", i, f[0], o[0], f[1], o[1], f[2], o[2])
		if i == 0 {
			continue
		}
		started.addRound(f[0], o[0])
		replaced.addRound(f[1], o[1])
		removed.addRound(f[2], o[2])
	}
	loads := before + " to " + loadAverage()
	const margin = 10 * time.Millisecond
	relist := time.Duration(0)
	if r.version == e2e.Containerd16 {
		relist = time.Second // It has no events.
	}
	r.table.addComparisonRow("manifest written → container running", started, floorPlusMarginTarget(margin), loads)
	r.table.addComparisonRow("container exits → replacement running", replaced, floorPlusMarginTarget(max(margin, relist)), loads)
	r.table.addComparisonRow("manifest removed → stopped", removed, floorPlusMarginTarget(margin), loads)
}

// measureLifeByAgent runs one pod through the agent, kills its container and removes its manifest. It returns
// how long the start, the replacement and the stop took.
func (w *harness) measureLifeByAgent() (took [3]time.Duration) {
	name := w.nextName("pod")
	pod := name + "-" + e2e.NodeName
	began := time.Now()
	w.writeManifest(name)
	id, at := w.waitUntilRunning(pod, 0)
	took[0] = at.Sub(began)
	w.sleepUnlessInterrupted(settle)
	began = w.killContainer(id)
	_, at = w.waitUntilRunning(pod, 1)
	took[1] = at.Sub(began)
	w.sleepUnlessInterrupted(settle)
	began = time.Now()
	w.removeManifest(name)
	took[2] = w.mustWaitUntil(began, "a pod is stopped", func() bool { return w.hasStopped(pod) })
	w.sleepUnlessInterrupted(settle)
	return took
}

// measureLifeByCRI runs one pod with direct CRI calls, kills its container, starts a replacement, and stops the
// pod. It returns how long the start, the replacement and the stop took. It polls like measureLifeByAgent, as
// polling uses processor time.
func (w *harness) measureLifeByCRI() (took [3]time.Duration) {
	b := w.newCRIPodWithFiles(w.nextName("bare"))
	var id string
	var at time.Time
	began := time.Now()
	w.runWhileWatching(b.runSandboxAndContainer, func() { id, at = w.waitUntilRunning(b.name, 0) })
	took[0] = at.Sub(began)
	w.sleepUnlessInterrupted(settle)
	began = w.killContainer(id)
	w.runWhileWatching(b.waitForExitAndStartReplacement, func() { _, at = w.waitUntilRunning(b.name, 1) })
	took[1] = at.Sub(began)
	w.sleepUnlessInterrupted(settle)
	began = time.Now()
	w.runWhileWatching(b.stopContainerAndSandbox, func() {
		took[2] = w.mustWaitUntil(began, "a bare pod is stopped", func() bool { return w.hasStopped(b.name) })
	})
	w.failOnError(b.removeSandbox())
	w.sleepUnlessInterrupted(settle)
	return took
}

// runWhileWatching runs work in a goroutine and watch in the caller, and waits for both. It fails the run if
// work returns an error.
func (w *harness) runWhileWatching(work func() error, watch func()) {
	done := make(chan error, 1)
	go func() { done <- work() }()
	watch()
	w.failOnError(<-done)
}
