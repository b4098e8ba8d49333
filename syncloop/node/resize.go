package node

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// resizesConfig returns how the handlers of the loop resize pods: with the runtime of the node, and with the allocated
// resources in Config.Pods.AllocatedResources if it is set.
func (n *Node) resizesConfig() syncloop.Resizes {
	r := syncloop.Resizes{Supported: n.canResize, Refuse: refuseResize}
	if n.allocated != nil {
		r.Allocated, r.Save = n.findAllocatedResources, n.allocated.requestSave
	}
	return r
}

// canResize reports whether the runtime can now update the resources of a running container.
func (n *Node) canResize() bool { return runtime.FeaturesOf(n.runtime).Updater != nil }

// refuseResize returns why a pod cannot get the resources of its new spec, or "" if it can. It checks what an API
// server checks, because the pods of files and of Apply have not passed one.
func refuseResize(allocated, desired *v1.Pod) string {
	if err := validation.ValidateResize(allocated, desired).ToAggregate(); err != nil {
		return err.Error()
	}
	return ""
}

// findAllocatedResources returns the resources that an earlier agent has allocated to a pod. It returns false
// if none are stored or the store panics. It also returns false if the runtime cannot resize and the pod is not
// from an API server, because the changed resources of such a pod count without a resize.
func (n *Node) findAllocatedResources(pod *v1.Pod) (allocated allocation.PodResources, found bool) {
	if !n.canResize() && !n.scheduling.isFromAPIServer(pod) {
		return allocated, false
	}
	_ = n.guard.Call("AllocatedResources.ConsumeResources", func() { // The guard logs a panic.
		allocated, found = n.allocated.ConsumeResources(pod)
	})
	return allocated, found
}
