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
	out            io.Writer
	nodes          []*node.Node
	retryRequested chan struct{} // signaled when the waiting pods must be tried again

	mu       sync.Mutex
	waiting  []*v1.Pod       // in order of arrival
	reported map[string]bool // pods whose reasons were printed
	begun    time.Time
}

func newScheduler(out io.Writer, nodes []*node.Node) *scheduler {
	return &scheduler{out: out, nodes: nodes, retryRequested: make(chan struct{}, 1), reported: map[string]bool{}, begun: time.Now()}
}

// enqueuePodsAndRequestRetry appends pods to the waiting pods, and requests that the scheduler tries them.
func (s *scheduler) enqueuePodsAndRequestRetry(pods ...*v1.Pod) {
	s.mu.Lock()
	s.waiting = append(s.waiting, pods...)
	s.mu.Unlock()
	s.requestRetry()
}

// requestRetry makes the scheduler try the waiting pods again. It does not block.
func (s *scheduler) requestRetry() {
	select {
	case s.retryRequested <- struct{}{}:
	default: // A retry is requested already.
	}
}

// placeUntilDone tries to place the waiting pods after each requested retry, until ctx is done. It also watches
// all nodes, and requests a retry when a pod terminates or is deleted.
func (s *scheduler) placeUntilDone(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	for _, n := range s.nodes {
		group.Go(func() { s.retryWhenPodsEnd(ctx, n) })
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.retryRequested:
		}
		s.mu.Lock()
		s.waiting = slices.DeleteFunc(s.waiting, s.placePodOrPrintReasons)
		s.mu.Unlock()
	}
}

// retryWhenPodsEnd watches a node until ctx is done. It requests a retry when a pod of the node has terminated
// or was deleted, because its resources are free then. If the watch fails, it requests a retry and watches
// again.
func (s *scheduler) retryWhenPodsEnd(ctx context.Context, n *node.Node) {
	for ctx.Err() == nil {
		for event, err := range n.WatchFrom(ctx, 0, node.ListOptions{}) {
			if err != nil || event.Type == watch.Deleted || event.Pod.Status.Phase == v1.PodSucceeded || event.Pod.Status.Phase == v1.PodFailed {
				s.requestRetry()
			}
		}
	}
}

// placePodOrPrintReasons applies a pod to the node with the least allocated CPU on which the pod fits, and
// returns true. If no node fits, it returns false, and prints the reasons the first time. A node counts an
// applied pod at once.
func (s *scheduler) placePodOrPrintReasons(pod *v1.Pod) (placed bool) {
	var best *node.Node
	reasons := map[string]int{}
	for _, n := range s.nodes {
		var refused *syncloop.FitError
		switch err := n.Scheduling().Fits(pod); {
		case errors.As(err, &refused):
			for _, r := range refused.Reasons {
				reasons[r.Reason]++
			}
		case err == nil && (best == nil || allocatedCPUFraction(n) < allocatedCPUFraction(best)):
			best = n
		}
	}
	if best != nil && best.Apply(pod) == nil {
		s.printPod(pod, "is placed on "+best.Name())
		return true
	}
	if !s.reported[pod.Name] {
		s.reported[pod.Name] = true
		s.printPod(pod, fmt.Sprint("waits: ", reasons))
	}
	return false
}

// printPod prints a line about a pod with the time since the start.
func (s *scheduler) printPod(pod *v1.Pod, what string) {
	fmt.Fprintf(s.out, "%.1fs %s %s\n", time.Since(s.begun).Seconds(), pod.Name, what)
}

// allocatedCPUFraction returns the allocated fraction of a node's CPU.
func allocatedCPUFraction(n *node.Node) float64 {
	all, used := n.Scheduling().Allocatable(), n.Scheduling().Allocated()
	return used.Cpu().AsApproximateFloat64() / all.Cpu().AsApproximateFloat64()
}
