package node

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
)

// Sources is the part of a node that reports what its sources have delivered. Its methods never
// block and are safe for concurrent use.
type Sources struct {
	sources *source.Mux
	manager *podmanager.Store
	workers *podworkers.Workers
}

// Sources returns the part of the node that reports what its sources have delivered.
func (n *Node) Sources() Sources { return Sources{n.sources, n.manager, n.workers} }

// Desired returns the store of the desired pods and of their mirror pods. The caller must not modify
// it.
func (s Sources) Desired() *podmanager.Store { return s.manager }

// Faults returns the present faults of the sources that report faults, as the sources of package
// manifest do. A faulty manifest does not make the node unhealthy.
func (s Sources) Faults() []source.Faults { return s.sources.Faults() }

// StaticPodsComplete reports whether every source of static pods has delivered all its pods.
func (s Sources) StaticPodsComplete() bool {
	return !slices.ContainsFunc(s.sources.Names(), func(name string) bool { return name != hostSource && !s.sources.Complete(name) })
}

// StaticPodTerminating reports whether a static pod of this full name is still terminating.
func (s Sources) StaticPodTerminating(fullName string) bool {
	return s.workers.IsPodForMirrorPodTerminatingByFullName(fullName)
}

// Statuses is the part of a node that sends statuses to Config.Statuses.Sink again, for sinks that
// write to an API server. Without a sink its methods do nothing. They never block and are safe for
// concurrent use.
type Statuses struct{ sender *status.Sender }

// Statuses returns the part of the node that sends statuses to Config.Statuses.Sink again.
func (n *Node) Statuses() Statuses { return Statuses{n.sender} }

// Resend sends the status of a pod again, because another writer has changed the stored status.
func (s Statuses) Resend(uid types.UID) {
	if s.sender != nil {
		s.sender.Resend(uid)
	}
}

// ResendNow sends the status of a pod at once, because the pod has a new API object without a status: a
// new mirror pod.
func (s Statuses) ResendNow(uid types.UID) {
	if s.sender != nil {
		s.sender.ResendNow(uid)
	}
}

// RetryNow sends the statuses that wait for a retry, because the sink can be reached again.
func (s Statuses) RetryNow() {
	if s.sender != nil {
		s.sender.RetryNow()
	}
}
