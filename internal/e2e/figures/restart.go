//go:build linux

package main

import (
	"context"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// takeRestart ends the agent as a crash does, and starts it again.
func (r *run) takeRestart() {
	w := r.harness
	names, began := make([]string, r.full), time.Now()
	for i := range names {
		names[i] = w.name("full")
		w.write(names[i])
	}
	r.say("%d pods run after %v", r.full, w.awaitLive(began, w.ours(), r.full))
	w.pause(10 * time.Second)
	were, _ := w.live(w.ours())
	var took sample
	before := load()
	for i := range r.tries {
		f := w.lookAtAll()
		w.agent.Kill()
		began := time.Now()
		w.agent.Start()
		o := w.await(began, "all pods are known", func() bool { return w.known() == r.full })
		r.say("try %d: %v %v", i, f, o)
		took.add(f, o)
		w.pause(2 * time.Second) // An agent that touches one does so by now.
		if are, _ := w.live(w.ours()); !maps.Equal(were, are) {
			r.Fatalf("figures: a restart has changed which containers run")
		}
	}
	r.table.times("restart → "+itoa(r.full)+" pods known, none touched", took, atMost(time.Second), before+" to "+load())
	for _, name := range names {
		w.remove(name)
	}
	w.awaitLive(time.Now(), w.ours(), 0)
}

// known is how many pods the agent says are running.
func (w *harness) known() (n int) {
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

// lookAtAll is what an agent has to ask to know its pods.
func (w *harness) lookAtAll() time.Duration {
	began, ctx := time.Now(), context.Background()
	ids, _ := w.live(w.ours())
	for id := range ids {
		_, err := w.runtime.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id})
		w.check(err)
	}
	list, err := w.runtime.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{LabelSelector: w.ours()}})
	w.check(err)
	for _, s := range list.GetItems() {
		_, err := w.runtime.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: s.GetId()})
		w.check(err)
	}
	return time.Since(began)
}
