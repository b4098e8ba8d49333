package node

import (
	"errors"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
)

// ErrJoined is returned by Apply and Replace of a node whose Config.Pods.Sources has a source
// named "api": its pods come from there.
var ErrJoined = errors.New("node: the pods come from an API server")

// View is how an API server sees the node: other programs change its labels and taints. Call
// Scheduling.Recheck when what it returns has changed; until then pods may wait that fit by now.
type View interface {
	// Node returns what is known of the node. It is called on the loop, at each admission
	// of a pod, and by any goroutine that calls Fits or Allocatable, and must not block. What
	// it returns is only read.
	Node() NodeInfo
	// Refresh asks for a read of the node that begins after the call. Scheduling.Recheck is
	// called when that has ended. It is called on the loop, possibly again before that,
	// and must not block.
	Refresh()
}

// NodeInfo is what admission has to know of a node.
type NodeInfo struct {
	// Labels are the node's, by which pods select it.
	Labels map[string]string
	// Taints of the node; see Config.Scheduling.Taints.
	Taints []v1.Taint
	// Unschedulable is spec.unschedulable of the node: it is cordoned. Only Fits looks at it.
	Unschedulable bool
	// Allocatable is what pods may have together; nil is what Config says.
	Allocatable v1.ResourceList
	// HostIPs are the node's addresses, primary first; none is what Config says. Each sync of a
	// pod looks at them, and Scheduling.Recheck has every pod synced if they have changed.
	HostIPs []string
	// ReadAt is when the last read of the node began that this comes from. A pod that the
	// node saw later is not rejected because of labels or taints before the next read. Zero: what is
	// here is as new as can be.
	ReadAt time.Time
}

// staticView is the view of a node that no API server knows.
type staticView struct{ info NodeInfo }

func (s staticView) Node() NodeInfo { return s.info }
func (staticView) Refresh()         {}

// completeView makes what the Config says the view of the node, unless there is one.
func (c *Config) completeView() {
	if c.Scheduling.View == nil {
		c.Scheduling.View = staticView{NodeInfo{Labels: maps.Clone(c.Scheduling.Labels), Taints: c.Scheduling.Taints, Allocatable: c.allocatable()}}
	}
}

// hasAPIServerSource reports whether the pods come from an API server.
func (c *Config) hasAPIServerSource() bool { return c.Pods.Sources[hostSource] != nil }
