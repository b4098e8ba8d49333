package node

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/syncloop"
)

// Drain ends all pods of the node, each within its grace, and returns when
// none runs any more. New pods are refused from then on. It needs a running
// node and leaves it running: end Run's context afterwards. If ctx ends first
// the error names the pods that are still ending, and they go on doing so.
func (n *Node) Drain(ctx context.Context) error {
	n.draining.begin()
	type kill struct {
		name string
		done *podworkers.Completion
	}
	var kills []kill
	for _, pod := range n.manager.GetPods() {
		if n.workers.View(pod.UID).Known() {
			done := n.workers.Kill(podworkers.UpdatePodOptions{Pod: pod})
			kills = append(kills, kill{pod.Namespace + "/" + pod.Name, done})
		}
	}
	var errs []error
	for _, k := range kills {
		if err := k.done.Wait(ctx); err != nil {
			errs = append(errs, fmt.Errorf("node: pod %s has not ended: %w", k.name, err))
		}
	}
	return errors.Join(errs...)
}

// draining refuses new pods once it has begun.
type draining struct {
	mu struct {
		sync.Mutex
		begun bool
	}
}

func (d *draining) begin() {
	d.mu.Lock()
	d.mu.begun = true
	d.mu.Unlock()
}

// Admit implements syncloop.PodAdmitHandler.
func (d *draining) Admit(syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.mu.begun {
		return syncloop.PodAdmitResult{Admit: true}
	}
	return syncloop.PodAdmitResult{Reason: "NodeShutdown", Message: "the node is being drained and takes no new pods"}
}
