//go:build linux

package main

import (
	"time"
)

// measureIdleAgent starts r.many pods, waits until the agent is idle, and adds rows for the agent's memory and
// processor time to the table. Then it removes the pods.
func (r *run) measureIdleAgent() {
	w := r.harness
	began := time.Now()
	names := make([]string, r.many)
	for i := range names {
		names[i] = w.nextName("idle")
		w.writeManifest(names[i])
	}
	w.waitForRunningCount(began, w.agentSelector(), len(names))
	w.sleepUnlessInterrupted(15 * time.Second) // Until everything about the start has been said.
	pid := w.agent.PID()
	all, anonymous, err := residentMemory(pid)
	w.failOnError(err)
	used, err := processorTime(pid)
	w.failOnError(err)
	began = time.Now()
	w.sleepUnlessInterrupted(r.idle)
	later, err := processorTime(pid)
	w.failOnError(err)
	share := 100 * float64(later-used) / float64(time.Since(began))
	after, _, err := residentMemory(pid)
	w.failOnError(err)
	r.logIfVerbose("resident %s, %s of it anonymous, later %s; %v in %v", formatMegabytes(all), formatMegabytes(anonymous), formatMegabytes(after), later-used, r.idle)
	all = max(all, after)
	r.table.addRow("resident memory with "+itoa(r.many)+" pods", "", formatMegabytes(all), "", "28 MB", all <= 28_000_000, loadAverage())
	r.table.addRow("processor, idle with "+itoa(r.many)+" pods", "", formatPercent(share), "", "0.1 %", share <= 0.1, loadAverage())
	for _, name := range names {
		w.removeManifest(name)
	}
	w.waitForRunningCount(began, w.agentSelector(), 0)
}
