//go:build linux

package main

import (
	"time"
)

// takeIdle looks at what an agent needs that has nothing to do.
func (r *run) takeIdle() {
	w := r.harness
	began := time.Now()
	names := make([]string, r.many)
	for i := range names {
		names[i] = w.name("idle")
		w.write(names[i])
	}
	w.awaitLive(began, w.ours(), len(names))
	w.pause(15 * time.Second) // Until everything about the start has been said.
	pid := w.agent.PID()
	all, anonymous, err := resident(pid)
	w.check(err)
	used, err := processorTime(pid)
	w.check(err)
	began = time.Now()
	w.pause(r.idle)
	later, err := processorTime(pid)
	w.check(err)
	share := 100 * float64(later-used) / float64(time.Since(began))
	after, _, err := resident(pid)
	w.check(err)
	r.say("resident %s, %s of it anonymous, later %s; %v in %v", mb(all), mb(anonymous), mb(after), later-used, r.idle)
	all = max(all, after)
	r.table.row("resident memory with "+itoa(r.many)+" pods", "", mb(all), "", "28 MB", all <= 28_000_000, load())
	r.table.row("processor, idle with "+itoa(r.many)+" pods", "", percent(share), "", "0.1 %", share <= 0.1, load())
	for _, name := range names {
		w.remove(name)
	}
	w.awaitLive(began, w.ours(), 0)
}
