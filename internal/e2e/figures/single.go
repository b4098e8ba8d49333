//go:build linux

package main

import (
	"time"

	"github.com/podkeel/podkeel/internal/e2e"
)

// settle is how long the machine may calm down between two tries.
const settle = 300 * time.Millisecond

// takeSingle follows one pod after the other through its life.
func (r *run) takeSingle() {
	var started, replaced, removed sample
	before := load()
	for i := range r.tries + 1 { // The first warms up what is warm ever after.
		f := r.harness.bareLife()
		o := r.harness.life()
		r.say("try %d: start %v %v, replace %v %v, remove %v %v", i, f[0], o[0], f[1], o[1], f[2], o[2])
		if i == 0 {
			continue
		}
		started.add(f[0], o[0])
		replaced.add(f[1], o[1])
		removed.add(f[2], o[2])
	}
	loads := before + " to " + load()
	const margin = 10 * time.Millisecond
	relist := time.Duration(0)
	if r.version == e2e.Containerd16 {
		relist = time.Second // It has no events.
	}
	r.table.times("manifest written → container running", started, within(margin), loads)
	r.table.times("container exits → replacement running", replaced, within(max(margin, relist)), loads)
	r.table.times("manifest removed → stopped", removed, within(margin), loads)
}

// life is the agent's way: start, replacement, removal.
func (w *harness) life() (took [3]time.Duration) {
	name := w.name("pod")
	pod := name + "-" + e2e.NodeName
	began := time.Now()
	w.write(name)
	id, at := w.awaitRunning(pod, 0)
	took[0] = at.Sub(began)
	w.pause(settle)
	began = w.kill(id)
	_, at = w.awaitRunning(pod, 1)
	took[1] = at.Sub(began)
	w.pause(settle)
	began = time.Now()
	w.remove(name)
	took[2] = w.await(began, "a pod is stopped", func() bool { return w.ended(pod) })
	w.pause(settle)
	return took
}

// bareLife is the same by bare calls, under the same eyes: who looks on takes
// processor time from who works.
func (w *harness) bareLife() (took [3]time.Duration) {
	b := w.bare(w.name("bare"))
	var id string
	var at time.Time
	began := time.Now()
	w.beside(b.begin, func() { id, at = w.awaitRunning(b.name, 0) })
	took[0] = at.Sub(began)
	w.pause(settle)
	began = w.kill(id)
	w.beside(b.replace, func() { _, at = w.awaitRunning(b.name, 1) })
	took[1] = at.Sub(began)
	w.pause(settle)
	began = time.Now()
	w.beside(b.end, func() {
		took[2] = w.await(began, "a bare pod is stopped", func() bool { return w.ended(b.name) })
	})
	w.check(b.discard())
	w.pause(settle)
	return took
}

// beside watches while work is done.
func (w *harness) beside(work func() error, watch func()) {
	done := make(chan error, 1)
	go func() { done <- work() }()
	watch()
	w.check(<-done)
}
