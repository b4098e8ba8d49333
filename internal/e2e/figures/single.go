//go:build linux

package main

import (
	"time"

	"github.com/podkeel/podkeel/internal/e2e"
)

// settle is how long the machine may calm down between two tries.
const settle = 300 * time.Millisecond

// measureSinglePods measures the lives of pods, one after the other.
func (r *run) measureSinglePods() {
	var started, replaced, removed sample
	before := loadAverage()
	for i := range r.tries + 1 { // The first round warms up caches.
		f := r.harness.measureLifeByCRI()
		o := r.harness.measureLifeByAgent()
		r.printf("try %d: start %v %v, replace %v %v, remove %v %v", i, f[0], o[0], f[1], o[1], f[2], o[2])
		if i == 0 {
			continue
		}
		started.add(f[0], o[0])
		replaced.add(f[1], o[1])
		removed.add(f[2], o[2])
	}
	loads := before + " to " + loadAverage()
	const margin = 10 * time.Millisecond
	relist := time.Duration(0)
	if r.version == e2e.Containerd16 {
		relist = time.Second // It has no events.
	}
	r.table.addTimes("manifest written → container running", started, aboveFloorTarget(margin), loads)
	r.table.addTimes("container exits → replacement running", replaced, aboveFloorTarget(max(margin, relist)), loads)
	r.table.addTimes("manifest removed → stopped", removed, aboveFloorTarget(margin), loads)
}

// measureLifeByAgent measures the life of one pod under the agent: start, replacement, removal.
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
	took[2] = w.waitUntil(began, "a pod is stopped", func() bool { return w.hasStopped(pod) })
	w.sleepUnlessInterrupted(settle)
	return took
}

// measureLifeByCRI measures the life of one pod with direct CRI calls: start, replacement, removal. The same
// observers run beside it as beside the agent, as they use processor time.
func (w *harness) measureLifeByCRI() (took [3]time.Duration) {
	b := w.newCRIPod(w.nextName("bare"))
	var id string
	var at time.Time
	began := time.Now()
	w.watchDuring(b.runSandboxAndContainer, func() { id, at = w.waitUntilRunning(b.name, 0) })
	took[0] = at.Sub(began)
	w.sleepUnlessInterrupted(settle)
	began = w.killContainer(id)
	w.watchDuring(b.startReplacement, func() { _, at = w.waitUntilRunning(b.name, 1) })
	took[1] = at.Sub(began)
	w.sleepUnlessInterrupted(settle)
	began = time.Now()
	w.watchDuring(b.stop, func() {
		took[2] = w.waitUntil(began, "a bare pod is stopped", func() bool { return w.hasStopped(b.name) })
	})
	w.check(b.remove())
	w.sleepUnlessInterrupted(settle)
	return took
}

// watchDuring runs work in a goroutine, calls watch meanwhile, and fails the run if work returns an error.
func (w *harness) watchDuring(work func() error, watch func()) {
	done := make(chan error, 1)
	go func() { done <- work() }()
	watch()
	w.check(<-done)
}
