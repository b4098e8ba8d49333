package node

import (
	"errors"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
)

// ErrJoined is returned by Apply and Replace if Config.Pods.Sources has a source named "api", which
// delivers the pods instead.
var ErrJoined = errors.New("node: the pods come from an API server")

// View returns the state that an API server has of the node, where other programs change labels and
// taints. After a change call Scheduling.Recheck: pods that wait for admission are not tried again
// before.
type View interface {
	// Node returns the state of the node. The loop calls it at each admission of a pod, and any
	// goroutine that calls Fits or Allocatable calls it too. It must not block. The caller does not
	// modify the result.
	Node() NodeInfo
	// Refresh requests a new read of the node from the API server. Its implementation calls
	// Scheduling.Recheck when the read has finished. The loop may call Refresh again before that. It
	// must not block.
	Refresh()
}

// NodeInfo is the state of a node that admission uses.
type NodeInfo struct {
	// Labels are the labels of the node, by which pods select it.
	Labels map[string]string
	// Taints are the taints of the node; see Config.Scheduling.Taints.
	Taints []v1.Taint
	// Unschedulable is spec.unschedulable of the node, which kubectl cordon sets. Only Fits uses it.
	Unschedulable bool
	// Allocatable is the sum of resources that pods may request. Nil: Config.Scheduling sets it.
	Allocatable v1.ResourceList
	// HostIPs are the addresses of the node, primary first. Empty: Config sets them. Each sync of a pod
	// reads them, and Scheduling.Recheck requests a sync of every pod if they have changed.
	HostIPs []string
	// ReadAt is the time at which the read of this state began. The node does not reject a pod that it
	// saw after ReadAt because of labels or taints, but waits for the next read. Zero: the state is
	// always current.
	ReadAt time.Time
}

// staticView is the View of a node without an API server.
type staticView struct{ info NodeInfo }

func (s staticView) Node() NodeInfo { return s.info }
func (staticView) Refresh()         {}

// setStaticViewIfUnset sets Scheduling.View to a fixed view of the labels, taints and allocatable resources in
// the Config, if the Config has no View.
func (c *Config) setStaticViewIfUnset() {
	if c.Scheduling.View == nil {
		c.Scheduling.View = staticView{NodeInfo{Labels: maps.Clone(c.Scheduling.Labels), Taints: c.Scheduling.Taints, Allocatable: c.declaredAllocatable()}}
	}
}

// hasAPIServerSource reports whether Config.Pods.Sources has a source for the pods of an API server.
func (c *Config) hasAPIServerSource() bool { return c.Pods.Sources[hostSource] != nil }
