package node

import (
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop"
)

// admission is the built-in chain, then the caller's. What is about this node
// alone comes before what depends on the pods that it has (AD-5).
func (n *Node) admission() []syncloop.PodAdmitHandler {
	all := []syncloop.PodAdmitHandler{
		admitValid(),
		syncloop.AdmitNames(),
		syncloop.AdmitGates(),
		syncloop.AdmitOS(n.config.Labels[v1.LabelOSStable]),
		syncloop.AdmitPodCount(n.config.MaxPods),
		syncloop.AdmitResources(n.config.allocatable()),
		syncloop.AdmitNodeAffinity(n.config.Name, n.config.Labels),
		syncloop.AdmitNodeName(n.config.Name),
		syncloop.AdmitHostPorts(),
		syncloop.AdmitTaints(n.config.Taints),
	}
	if features, ok := n.features(); ok {
		all = append(all, admitFeatures(features, n.config.Recorder))
	}
	return append(all, n.config.Admit...)
}

// completeLabels adds what every node says of itself.
func (c *Config) completeLabels() {
	labels := map[string]string{
		v1.LabelOSStable:   goruntime.GOOS,
		v1.LabelArchStable: goruntime.GOARCH,
		v1.LabelHostname:   c.Name,
	}
	maps.Copy(labels, c.Labels)
	c.Labels = labels
}

// checkResources finds what can not be: less than nothing, and a part of
// something that is not there.
func (c *Config) checkResources() (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(c.Capacity)) {
		if q := c.Capacity[name]; q.Sign() < 0 {
			errs = append(errs, fmt.Errorf("node: Config.Capacity: %s is negative", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Reserved)) {
		q := c.Reserved[name]
		if have, declared := c.Capacity[name]; !declared || q.Sign() < 0 || q.Cmp(have) > 0 {
			errs = append(errs, fmt.Errorf("node: Config.Reserved: %s is not a part of the capacity", name))
		}
	}
	return errs
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
