package node

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime"
)

// Desired returns the store of the desired pods and of their mirror pods. The caller must not
// change it.
func (n *Node) Desired() *podmanager.Store { return n.manager }

// Observed returns all pods as the runtime has shown them last. The result is read only and never
// changes.
func (n *Node) Observed() []runtime.Pod { return n.pleg.Pods() }

// SourcesComplete reports whether every source of static pods has delivered all its pods.
// It never blocks.
func (n *Node) SourcesComplete() bool {
	return !slices.ContainsFunc(n.sources.Names(), func(name string) bool { return name != hostSource && !n.sources.Complete(name) })
}

// SourceFaults are the faults that stand now of each source that can be asked for them, as
// those of package manifest can. It never blocks. A node with faults is healthy.
func (n *Node) SourceFaults() []source.Faults { return n.sources.Faults() }

// StaticPodTerminating reports whether a static pod of this full name is still terminating. It
// never blocks.
func (n *Node) StaticPodTerminating(fullName string) bool {
	return n.workers.IsPodForMirrorPodTerminatingByFullName(fullName)
}

// Resend has the status of a pod sent to Config.Sink again, since another writer has
// changed what arrived there. It never blocks.
func (n *Node) Resend(uid types.UID) {
	if n.sender != nil {
		n.sender.Resend(uid)
	}
}

// ResendNow has the status of a pod sent to Config.Sink at once, which has a pod now that was
// sent none: a new mirror pod. It never blocks.
func (n *Node) ResendNow(uid types.UID) {
	if n.sender != nil {
		n.sender.ResendNow(uid)
	}
}

// RetryNow has statuses sent that wait after a failure: Config.Sink answers again. It never
// blocks.
func (n *Node) RetryNow() {
	if n.sender != nil {
		n.sender.RetryNow()
	}
}
