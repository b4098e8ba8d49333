//go:build linux

package main

import (
	"context"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// measureAgentRestart starts r.full pods, kills and restarts the agent r.tries times, and measures until the agent
// reports all pods as running. It fails the run if a restart changes which containers run. Then it removes the
// pods.
func (r *run) measureAgentRestart() {
	w := r.harness
	names, began := make([]string, r.full), time.Now()
	for i := range names {
		names[i] = w.nextName("full")
		w.writeManifest(names[i])
	}
	r.logIfVerbose("%d pods run after %v", r.full, w.waitForRunningCount(began, w.agentSelector(), r.full))
	w.sleepUnlessInterrupted(10 * time.Second)
	were, _ := w.listRunning(w.agentSelector())
	var took sample
	before := loadAverage()
	for i := range r.tries {
		f := w.measureListAndStatusCalls()
		w.agent.Kill()
		began := time.Now()
		w.agent.Start()
		o := w.mustWaitUntil(began, "all pods are known", func() bool { return w.countRunningInAgent() == r.full })
		r.logIfVerbose("try %d: %v %v", i, f, o)
		took.addRound(f, o)
		w.sleepUnlessInterrupted(2 * time.Second) // An agent that touches one does so by now.
		if are, _ := w.listRunning(w.agentSelector()); !maps.Equal(were, are) {
			r.Fatalf("figures: a restart has changed which containers run")
		}
	}
	r.table.addComparisonRow("restart → "+itoa(r.full)+" pods known, none touched", took, atMostTarget(time.Second), before+" to "+loadAverage())
	for _, name := range names {
		w.removeManifest(name)
	}
	w.waitForRunningCount(time.Now(), w.agentSelector(), 0)
}

// countRunningInAgent returns the number of pods that the agent reports as running. It returns 0 if the agent
// does not answer.
func (w *harness) countRunningInAgent() (n int) {
	pods, err := w.agent.Pods()
	if err != nil {
		return 0 // It does not listen yet.
	}
	for _, pod := range pods {
		if pod.Status.Phase == v1.PodRunning {
			n++
		}
	}
	return n
}

// measureListAndStatusCalls makes the CRI calls that an agent needs to know its pods, list calls and one status
// call for each container and sandbox, and returns how long they took.
func (w *harness) measureListAndStatusCalls() time.Duration {
	began, ctx := time.Now(), context.Background()
	ids, _ := w.listRunning(w.agentSelector())
	for id := range ids {
		_, err := w.runtime.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id})
		w.failOnError(err)
	}
	list, err := w.runtime.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{LabelSelector: w.agentSelector()}})
	w.failOnError(err)
	for _, s := range list.GetItems() {
		_, err := w.runtime.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: s.GetId()})
		w.failOnError(err)
	}
	return time.Since(began)
}
