package node

import (
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/allocation"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// admitHandlers returns the built-in admission handlers, followed by Config.Scheduling.Admit. The check of the
// spec is the first handler, or on a node with an API server as source a late one that keeps invalid pods
// Pending. If features is nil, no handler checks whether the PodSyncer supports the fields of a pod. (AD-5)
func (s *Scheduling) admitHandlers(features func() podsync.Features) []syncloop.PodAdmitHandler {
	all := []syncloop.PodAdmitHandler{
		syncloop.AdmitNames(),
		syncloop.AdmitGates(),
		syncloop.AdmitOS(s.config.Scheduling.Labels[v1.LabelOSStable]),
		syncloop.AdmitSupplementalGroupsPolicy(func() runtime.Support { return supportForGroupsPolicy(features) }),
		syncloop.AdmitPodCount(s.config.Scheduling.MaxPods),
		syncloop.AdmitResourcesFrom(func() v1.ResourceList { return s.nodeInfoForAdmission().Allocatable }),
		s.admitByNodeInfoPendIfStale(func(info NodeInfo) syncloop.PodAdmitHandler {
			return syncloop.AdmitNodeAffinity(s.config.Name, info.Labels)
		}),
		syncloop.AdmitNodeName(s.config.Name),
		syncloop.AdmitHostPorts(),
		s.admitByNodeInfoPendIfStale(func(info NodeInfo) syncloop.PodAdmitHandler { return syncloop.AdmitTaints(info.Taints) }),
	}
	if s.config.hasAPIServerSource() {
		all = append(all, s.pendInsteadOfRejectIfFromAPIServer(admitValidPods(false)))
	} else {
		all = append([]syncloop.PodAdmitHandler{admitValidPods(true)}, all...)
	}
	if features != nil {
		all = append(all, s.pendInsteadOfRejectIfFromAPIServer(admitSupportedFeatures(features, s.config.Recorder)))
	}
	return append(all, s.config.Scheduling.Admit...)
}

// supportForGroupsPolicy returns whether the runtime supports the supplementalGroupsPolicy Strict. It returns
// SupportUnknown if features is nil, because the PodSyncer then decides.
func supportForGroupsPolicy(features func() podsync.Features) runtime.Support {
	if features == nil {
		return runtime.SupportUnknown
	}
	return runtimeFeaturesOf(features()).StrictGroups
}

// runtimeFeaturesOf returns the features of the runtime in the features of a PodSyncer, or none if they have none.
func runtimeFeaturesOf(features podsync.Features) runtime.Features {
	if features.Runtime == nil {
		return runtime.Features{}
	}
	return features.Runtime()
}

// isFromAPIServer reports whether the node takes its pods from an API server and the pod is not a static pod.
// If the node rejects such a pod, a controller may create another pod in its place.
func (s *Scheduling) isFromAPIServer(pod *v1.Pod) bool {
	return s.config.Pods.FromAPIServer && !podmanager.IsStaticPod(pod)
}

// admitByNodeInfoPendIfStale returns a handler that reads the state of the node at each admission and asks the
// handler that newHandler makes of it. A pod from an API server that would be rejected, although that state was
// read before the pod was first seen, stays Pending instead. The state is then read again, except in a trial.
// (AD-6)
func (s *Scheduling) admitByNodeInfoPendIfStale(newHandler func(NodeInfo) syncloop.PodAdmitHandler) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		info := s.config.Scheduling.View.Node()
		result := newHandler(info).Admit(attrs)
		if result.Admit || info.ReadAt.IsZero() || !s.isFromAPIServer(attrs.Pod) {
			return result
		}
		seen, err := time.Parse(time.RFC3339Nano, attrs.Pod.Annotations[podmanager.ConfigFirstSeenAnnotation])
		if err != nil || !info.ReadAt.Before(seen) {
			return result
		}
		if !attrs.Trial {
			s.config.Scheduling.View.Refresh()
		}
		return syncloop.PodAdmitResult{Pending: true, Message: "the node is read again: " + result.Message}
	})
}

// pendInsteadOfRejectIfFromAPIServer returns a handler that calls the given handler, and marks a refused pod as
// Pending if it comes from an API server. If such a pod were rejected, its controller would create pods without
// end.
func (s *Scheduling) pendInsteadOfRejectIfFromAPIServer(handler syncloop.PodAdmitHandler) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		result := handler.Admit(attrs)
		result.Pending = !result.Admit && s.isFromAPIServer(attrs.Pod)
		return result
	})
}

// addKubeletLabels sets the labels of the node to those in the Config plus the ones that every kubelet sets:
// host name, operating system and architecture.
func (c *Config) addKubeletLabels() {
	c.Scheduling.Labels = nodestatus.Labels(nodestatus.Spec{Name: c.Name, OS: goruntime.GOOS, Arch: goruntime.GOARCH, Labels: c.Scheduling.Labels})
}

// checkResourceQuantities adds a fault for each negative quantity, and for each reserved resource that exceeds
// its capacity or has no capacity. It also adds a fault if a hard eviction threshold is not below what pods or the
// machine have, or if a threshold and the reserved resources together leave pods nothing.
func (c *Config) checkResourceQuantities(done *contain.ConfigCheck) {
	for _, name := range slices.Sorted(maps.Keys(c.Scheduling.Capacity)) {
		q := c.Scheduling.Capacity[name]
		done.FaultIf(q.Sign() < 0, "Scheduling.Capacity: "+string(name)+" is negative")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Scheduling.Reserved)) {
		q := c.Scheduling.Reserved[name]
		have, declared := c.Scheduling.Capacity[name]
		done.FaultIf(!declared || q.Sign() < 0 || q.Cmp(have) > 0, "Scheduling.Reserved: "+string(name)+" is not a part of the capacity")
	}
	if c.Eviction.Signals == nil {
		return
	}
	for _, capacity := range []v1.ResourceList{c.unreservedCapacity(), c.Scheduling.MachineCapacity} {
		if err := eviction.CheckCapacity(c.Eviction.Policy.Thresholds, capacity); err != nil {
			done.FaultIf(true, "Eviction.Policy: "+err.Error())
			return
		}
	}
	c.checkReservedAndThresholds(done)
}

// checkReservedAndThresholds adds a fault for each resource if Scheduling.Reserved and a hard eviction threshold together
// leave pods nothing. A percentage is a part of the whole capacity, so CheckCapacity may accept the percentage.
func (c *Config) checkReservedAndThresholds(done *contain.ConfigCheck) {
	kept, unreserved := eviction.ReservedByThresholds(c.Eviction.Policy.Thresholds, c.Scheduling.Capacity), c.unreservedCapacity()
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		threshold, left, all, reserved := kept[name], unreserved[name], c.Scheduling.Capacity[name], c.Scheduling.Reserved[name]
		done.FaultIf(threshold.Cmp(left) >= 0, fmt.Sprintf("Scheduling.Reserved: %s: %s are reserved and a hard eviction threshold keeps %s free, which leaves pods nothing of %s; lower one of them",
			name, reserved.String(), threshold.String(), all.String()))
	}
}

// Allocatable returns the resources that the node has for pods: Scheduling.Capacity without Scheduling.Reserved. A
// node that evicts pods also leaves out what the hard thresholds of memory.available and nodefs.available keep free.
// For a resource that Scheduling.Capacity lacks, Allocatable uses Scheduling.MachineCapacity. No quantity is negative.
// The caller may modify the list. The fields must be valid.
func (c *Config) Allocatable() v1.ResourceList {
	return mergeResources(c.declaredAllocatable(), c.subtractThresholds(c.Scheduling.MachineCapacity, c.Scheduling.MachineCapacity))
}

// declaredAllocatable returns the resources of Allocatable that Scheduling.Capacity has. Admission compares the requests
// of pods with them.
func (c *Config) declaredAllocatable() v1.ResourceList {
	return c.subtractThresholds(c.unreservedCapacity(), c.Scheduling.Capacity)
}

// unreservedCapacity returns Scheduling.Capacity without Scheduling.Reserved.
func (c *Config) unreservedCapacity() v1.ResourceList {
	return subtractResources(c.Scheduling.Capacity, c.Scheduling.Reserved)
}

// subtractThresholds returns a list without the part of the capacity that the hard eviction thresholds keep free. It
// returns a copy of the list if the node evicts no pods.
func (c *Config) subtractThresholds(list, capacity v1.ResourceList) v1.ResourceList {
	if c.Eviction.Signals == nil {
		return list.DeepCopy()
	}
	return subtractResources(list, eviction.ReservedByThresholds(c.Eviction.Policy.Thresholds, capacity))
}

// subtractResources returns a copy of a list from which the other list is subtracted, and not below zero. It ignores
// resources that the first list lacks.
func subtractResources(list, subtracted v1.ResourceList) v1.ResourceList {
	left := list.DeepCopy()
	for name, amount := range subtracted {
		if q, ok := left[name]; ok {
			if q.Sub(amount); q.Sign() < 0 {
				q = *resource.NewQuantity(0, q.Format)
			}
			left[name] = q
		}
	}
	return left
}

// machineMemoryBytes returns the memory in Scheduling.Capacity. If it declares none, it returns the memory in
// Scheduling.MachineCapacity, or 0.
func (c *Config) machineMemoryBytes() uint64 {
	all := mergeResources(c.Scheduling.Capacity, c.Scheduling.MachineCapacity)
	return uint64(max(all.Memory().Value(), 0))
}

// mergeResources returns a new list with all resources of both lists. For a resource in both lists it uses the
// quantity of the first one.
func mergeResources(list, defaults v1.ResourceList) v1.ResourceList {
	all := make(v1.ResourceList, len(list)+len(defaults))
	maps.Copy(all, defaults)
	maps.Copy(all, list)
	return all
}

// admitSupportedFeatures returns a handler that rejects a pod with fields that the PodSyncer does not support,
// and names the fields. It admits a pod with fields that only have no effect, and records one warning event
// about them at each admission that is not a trial. AdmitSupplementalGroupsPolicy has decided about the
// supplementalGroupsPolicy Strict before, so the handler does not name that field a second time.
func admitSupportedFeatures(features func() podsync.Features, events runtime.EventRecorder) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		supported := features()
		ofRuntime := runtimeFeaturesOf(supported)
		ofRuntime.StrictGroups = runtime.SupportUnknown
		supported.Runtime = func() runtime.Features { return ofRuntime }
		rejected, ignored := podsync.Unsupported(attrs.Pod, supported)
		if len(rejected) > 0 {
			return rejectionForUnsupportedFields(rejected)
		}
		if len(ignored) > 0 && events != nil && !attrs.Trial {
			events.Event(attrs.Pod, v1.EventTypeWarning, "IgnoredField", "without effect on this node: "+describeFieldProblems(ignored))
		}
		return syncloop.PodAdmitResult{Admit: true}
	})
}

// rejectionForUnsupportedFields returns a rejection with reason UnsupportedField. Its message names all these
// fields, and it has one reason for each field.
func rejectionForUnsupportedFields(problems []podsync.Problem) syncloop.PodAdmitResult {
	result := syncloop.PodAdmitResult{Reason: "UnsupportedField", Message: "this node can not honour " + describeFieldProblems(problems)}
	for _, p := range problems {
		result.Reasons = append(result.Reasons, allocation.Reason{
			Kind: allocation.KindUnsupportedField, Reason: result.Reason, Message: "this node can not honour " + describeFieldProblems([]podsync.Problem{p}), Field: p.Field,
		})
	}
	return result
}

// describeFieldProblems returns each field and why it is a problem, as "field (why)", separated by "; ".
func describeFieldProblems(problems []podsync.Problem) string {
	parts := make([]string, len(problems))
	for i, p := range problems {
		parts[i] = fmt.Sprintf("%s (%s)", p.Field, p.Why)
	}
	return strings.Join(parts, "; ")
}
