package node

import (
	"errors"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/syncloop"
)

// ErrJoined is returned by Apply and Replace of a node whose Config.Sources has a source
// named "api": its pods come from there.
var ErrJoined = errors.New("node: the pods come from an API server")

// View is how an API server sees the node: other programs change its labels and taints. Call
// Node.Recheck when what it returns has changed; until then pods may wait that fit by now.
type View interface {
	// Node returns what is known of the node. It is called on the loop, at each admission
	// of a pod, and by any goroutine that calls Fits or Allocatable, and must not block. What
	// it returns is only read.
	Node() NodeInfo
	// Refresh asks for a read of the node that begins after the call. Node.Recheck is
	// called when that has ended. It is called on the loop, possibly again before that,
	// and must not block.
	Refresh()
}

// NodeInfo is what admission has to know of a node.
type NodeInfo struct {
	// Labels are the node's, by which pods select it.
	Labels map[string]string
	// Taints of the node; see Config.Taints.
	Taints []v1.Taint
	// Unschedulable is spec.unschedulable of the node: it is cordoned. Only Fits looks at it.
	Unschedulable bool
	// Allocatable is what pods may have together; nil is what Config says.
	Allocatable v1.ResourceList
	// HostIPs are the node's addresses, primary first; none is what Config says. Each sync of a
	// pod looks at them, and Node.Recheck has every pod synced if they have changed.
	HostIPs []string
	// ReadAt is when the last read of the node began that this comes from. A pod that the
	// node saw later is not rejected because of labels or taints before the next read. Zero: what is
	// here is as new as can be.
	ReadAt time.Time
}

// static is the view of a node that no API server knows.
type static struct{ info NodeInfo }

func (s static) Node() NodeInfo { return s.info }
func (static) Refresh()         {}

// completeView makes what the Config says the view of the node, unless there is one.
func (c *Config) completeView() {
	if c.View == nil {
		c.View = static{NodeInfo{Labels: maps.Clone(c.Labels), Taints: c.Taints, Allocatable: c.allocatable()}}
	}
}

// Recheck asks again for the admission of all pods that wait: the node can do more, or
// Config.View has something new. It never blocks and may be called from anywhere.
func (n *Node) Recheck() {
	n.handlers.Recheck()
	n.showAddresses()
}

// showAddresses has every pod synced if the node has other addresses than at the last Recheck:
// the statuses of pods tell of them.
func (n *Node) showAddresses() {
	ips := slices.Clone(n.seenInfo().HostIPs)
	n.mu.Lock()
	same := slices.Equal(ips, n.mu.addresses)
	n.mu.addresses = ips
	n.mu.Unlock()
	if same {
		return
	}
	for _, pod := range n.manager.GetPods() {
		n.loop.RequestSync(pod.UID)
	}
}

// joined reports whether the pods come from an API server.
func (c *Config) joined() bool { return c.Sources[hostSource] != nil }

// fromAPIServer reports whether a pod is one of an API server, which would have another
// one made for one that is rejected.
func (n *Node) fromAPIServer(pod *v1.Pod) bool {
	return n.config.FromAPIServer && !podmanager.IsStaticPod(pod)
}

// viewed is an admission handler for the node as it is seen at the moment.
func (n *Node) viewed(handler func(NodeInfo) syncloop.PodAdmitHandler) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		return handler(n.info()).Admit(attrs)
	})
}

// reread is viewed for what may have changed a moment before the pod was created: a pod is
// rejected only by a state of the node that was read after the pod was seen (AD-6).
func (n *Node) reread(handler func(NodeInfo) syncloop.PodAdmitHandler) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		info := n.config.View.Node()
		result := handler(info).Admit(attrs)
		if result.Admit || info.ReadAt.IsZero() || !n.fromAPIServer(attrs.Pod) {
			return result
		}
		seen, err := time.Parse(time.RFC3339Nano, attrs.Pod.Annotations[podmanager.ConfigFirstSeenAnnotation])
		if err != nil || !info.ReadAt.Before(seen) {
			return result
		}
		if !attrs.Trial {
			n.config.View.Refresh()
		}
		return syncloop.PodAdmitResult{Pending: true, Message: "the node is read again: " + result.Message}
	})
}

// unlessPending is an admission handler that keeps a pod of an API server Pending where
// it rejects another one: its controller would make another pod, for ever.
func (n *Node) unlessPending(handler syncloop.PodAdmitHandler) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		result := handler.Admit(attrs)
		result.Pending = !result.Admit && n.fromAPIServer(attrs.Pod)
		return result
	})
}
