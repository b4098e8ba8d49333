package node

import (
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// admission is the built-in chain, then the caller's. What is about this node
// alone comes before what depends on the pods that it has (AD-5).
func (n *Node) admission() []syncloop.PodAdmitHandler {
	all := []syncloop.PodAdmitHandler{
		syncloop.AdmitNames(),
		syncloop.AdmitGates(),
		syncloop.AdmitOS(n.config.Labels[v1.LabelOSStable]),
		syncloop.AdmitPodCount(n.config.MaxPods),
		n.viewed(func(info NodeInfo) syncloop.PodAdmitHandler { return syncloop.AdmitResources(info.Allocatable) }),
		n.reread(func(info NodeInfo) syncloop.PodAdmitHandler {
			return syncloop.AdmitNodeAffinity(n.config.Name, info.Labels)
		}),
		syncloop.AdmitNodeName(n.config.Name),
		syncloop.AdmitHostPorts(),
		n.reread(func(info NodeInfo) syncloop.PodAdmitHandler { return syncloop.AdmitTaints(info.Taints) }),
	}
	if n.config.joined() {
		all = append(all, n.unlessPending(admitValid(false)))
	} else {
		all = append([]syncloop.PodAdmitHandler{admitValid(true)}, all...)
	}
	if features, ok := n.features(); ok {
		all = append(all, n.unlessPending(admitFeatures(features, n.config.Recorder)))
	}
	return append(all, n.config.Admit...)
}

// completeLabels adds the labels that every node gives itself, joined to a cluster or not.
func (c *Config) completeLabels() {
	c.Labels = nodestatus.Labels(nodestatus.Spec{Name: c.Name, OS: goruntime.GOOS, Arch: goruntime.GOARCH, Labels: c.Labels})
}

// checkResources finds what can not be: less than nothing, and a part of
// something that is not there.
func (c *Config) checkResources(done *contain.Completion) {
	for _, name := range slices.Sorted(maps.Keys(c.Capacity)) {
		q := c.Capacity[name]
		done.Fault(q.Sign() < 0, "Capacity: "+string(name)+" is negative")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Reserved)) {
		q := c.Reserved[name]
		have, declared := c.Capacity[name]
		done.Fault(!declared || q.Sign() < 0 || q.Cmp(have) > 0, "Reserved: "+string(name)+" is not a part of the capacity")
	}
}

// allocatable is what pods may have together.
func (c *Config) allocatable() v1.ResourceList {
	list := c.Capacity.DeepCopy()
	for name, reserved := range c.Reserved {
		q := list[name]
		q.Sub(reserved)
		list[name] = q
	}
	return list
}

// toldAllocatable is what pods are told that they may have: of what Capacity does not declare,
// all that the machine has.
func (c *Config) toldAllocatable() v1.ResourceList { return orOf(c.allocatable(), c.Machine) }

// memoryBytes is the memory of the machine; 0: it is not known.
func (c *Config) memoryBytes() uint64 {
	all := orOf(c.Capacity, c.Machine)
	return uint64(max(all.Memory().Value(), 0))
}

// orOf is a list with what it lacks as in another one.
func orOf(list, other v1.ResourceList) v1.ResourceList {
	all := make(v1.ResourceList, len(list)+len(other))
	maps.Copy(all, other)
	maps.Copy(all, list)
	return all
}

// admitFeatures refuses a pod that asks for what the node's syncer can not do,
// with the field's name. What is merely without effect is said in a warning
// event, for each admission once.
func admitFeatures(features podsync.Features, events runtime.EventRecorder) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		rejected, ignored := podsync.Unsupported(attrs.Pod, features)
		if len(rejected) > 0 {
			return unsupported(rejected)
		}
		if len(ignored) > 0 && events != nil && !attrs.Trial {
			events.Event(attrs.Pod, v1.EventTypeWarning, "IgnoredField", "without effect on this node: "+sentence(ignored))
		}
		return syncloop.PodAdmitResult{Admit: true}
	})
}

func unsupported(problems []podsync.Problem) syncloop.PodAdmitResult {
	result := syncloop.PodAdmitResult{Reason: "UnsupportedField", Message: "this node can not honour " + sentence(problems)}
	for _, p := range problems {
		result.Reasons = append(result.Reasons, syncloop.Reason{
			Kind: syncloop.KindUnsupportedField, Reason: result.Reason, Message: "this node can not honour " + sentence([]podsync.Problem{p}), Field: p.Field,
		})
	}
	return result
}

func sentence(problems []podsync.Problem) string {
	parts := make([]string, len(problems))
	for i, p := range problems {
		parts[i] = fmt.Sprintf("%s (%s)", p.Field, p.Why)
	}
	return strings.Join(parts, "; ")
}
