package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/node"
)

// scheduler places pods on nodes.
type scheduler struct {
	out   io.Writer
	nodes []*node.Node
	again chan struct{} // the pods that wait are to be tried again

	mu      sync.Mutex
	waiting []*v1.Pod       // in order of arrival
	refused map[string]bool // pods of which the reasons were printed
	begun   time.Time
}

func newScheduler(out io.Writer, nodes []*node.Node) *scheduler {
	return &scheduler{out: out, nodes: nodes, again: make(chan struct{}, 1), refused: map[string]bool{}, begun: time.Now()}
}

// add has the scheduler place pods.
func (s *scheduler) add(pods ...*v1.Pod) {
	s.mu.Lock()
	s.waiting = append(s.waiting, pods...)
	s.mu.Unlock()
	s.retry()
}

// retry has it try the pods again that wait: a node may have room.
func (s *scheduler) retry() {
	select {
	case s.again <- struct{}{}:
	default: // It will try.
	}
}

// run places pods until ctx ends.
func (s *scheduler) run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	for _, n := range s.nodes {
		group.Go(func() { s.watch(ctx, n) })
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.again:
		}
		s.mu.Lock()
		s.waiting = slices.DeleteFunc(s.waiting, s.placed)
		s.mu.Unlock()
	}
}

// watch retries when a pod of the node has ended or is gone: the last event about a pod comes when it
// counts no more. A watch that falls too far behind begins anew.
func (s *scheduler) watch(ctx context.Context, n *node.Node) {
	for ctx.Err() == nil {
		for event, err := range n.WatchFrom(ctx, 0, node.ListOptions{}) {
			if err != nil || event.Type == watch.Deleted || event.Pod.Status.Phase == v1.PodSucceeded || event.Pod.Status.Phase == v1.PodFailed {
				s.retry()
			}
		}
	}
}

// placed applies a pod to the best node on which it fits, and reports whether there is one. What was
// applied counts at once. If there is none, it prints once how many nodes have which reason.
func (s *scheduler) placed(pod *v1.Pod) bool {
	var best *node.Node
	reasons := map[string]int{}
	for _, n := range s.nodes {
		var refused *syncloop.FitError
		switch err := n.Scheduling().Fits(pod); {
		case errors.As(err, &refused):
			for _, r := range refused.Reasons {
				reasons[r.Reason]++
			}
		case err == nil && (best == nil || allocated(n) < allocated(best)):
			best = n
		}
	}
	if best != nil && best.Apply(pod) == nil {
		s.say(pod, "is placed on "+best.Name())
		return true
	}
	if !s.refused[pod.Name] {
		s.refused[pod.Name] = true
		s.say(pod, fmt.Sprint("waits: ", reasons))
	}
	return false
}

func (s *scheduler) say(pod *v1.Pod, what string) {
	fmt.Fprintf(s.out, "%.1fs %s %s\n", time.Since(s.begun).Seconds(), pod.Name, what)
}

// allocated is the part of a node's cpu that pods have.
func allocated(n *node.Node) float64 {
	all, used := n.Scheduling().Allocatable(), n.Scheduling().Allocated()
	return used.Cpu().AsApproximateFloat64() / all.Cpu().AsApproximateFloat64()
}
