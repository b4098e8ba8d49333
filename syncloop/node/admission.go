package node

import (
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/allocation"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// admitHandlers returns the built-in admission handlers and then Config.Scheduling.Admit. Handlers that
// check a pod against the node alone precede handlers that depend on other pods (AD-5). features
// returns the features of the PodSyncer; nil: it does not report any.
func (s *Scheduling) admitHandlers(features func() podsync.Features) []syncloop.PodAdmitHandler {
	all := []syncloop.PodAdmitHandler{
		syncloop.AdmitNames(),
		syncloop.AdmitGates(),
		syncloop.AdmitOS(s.config.Scheduling.Labels[v1.LabelOSStable]),
		syncloop.AdmitPodCount(s.config.Scheduling.MaxPods),
		s.admitByNodeInfo(func(info NodeInfo) syncloop.PodAdmitHandler { return syncloop.AdmitResources(info.Allocatable) }),
		s.admitByFreshNodeInfo(func(info NodeInfo) syncloop.PodAdmitHandler {
			return syncloop.AdmitNodeAffinity(s.config.Name, info.Labels)
		}),
		syncloop.AdmitNodeName(s.config.Name),
		syncloop.AdmitHostPorts(),
		s.admitByFreshNodeInfo(func(info NodeInfo) syncloop.PodAdmitHandler { return syncloop.AdmitTaints(info.Taints) }),
	}
	if s.config.hasAPIServerSource() {
		all = append(all, s.pendInsteadOfReject(admitValid(false)))
	} else {
		all = append([]syncloop.PodAdmitHandler{admitValid(true)}, all...)
	}
	if features != nil {
		all = append(all, s.pendInsteadOfReject(admitFeatures(features, s.config.Recorder)))
	}
	return append(all, s.config.Scheduling.Admit...)
}

// isFromAPIServer reports whether a pod comes from an API server, where a controller creates another
// pod in place of a rejected one.
func (s *Scheduling) isFromAPIServer(pod *v1.Pod) bool {
	return s.config.Pods.FromAPIServer && !podmanager.IsStaticPod(pod)
}

// admitByNodeInfo returns a handler that calls newHandler with the present state of the node at each
// admission.
func (s *Scheduling) admitByNodeInfo(newHandler func(NodeInfo) syncloop.PodAdmitHandler) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		return newHandler(s.admissionInfo()).Admit(attrs)
	})
}

// admitByFreshNodeInfo returns a handler for labels and taints, which may have changed a moment before
// the pod was created. The handler rejects a pod of an API server only if the state of the node was
// read after the pod was first seen (AD-6). Otherwise the pod stays Pending and the handler requests a
// new read.
func (s *Scheduling) admitByFreshNodeInfo(newHandler func(NodeInfo) syncloop.PodAdmitHandler) syncloop.PodAdmitHandler {
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

// pendInsteadOfReject returns a handler that keeps a pod of an API server Pending where the given
// handler rejects it. Otherwise the controller of the pod would create pods without end.
func (s *Scheduling) pendInsteadOfReject(handler syncloop.PodAdmitHandler) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		result := handler.Admit(attrs)
		result.Pending = !result.Admit && s.isFromAPIServer(attrs.Pod)
		return result
	})
}

// completeLabels adds the labels that every kubelet sets on its node.
func (c *Config) completeLabels() {
	c.Scheduling.Labels = nodestatus.Labels(nodestatus.Spec{Name: c.Name, OS: goruntime.GOOS, Arch: goruntime.GOARCH, Labels: c.Scheduling.Labels})
}

// checkResources adds a fault for each negative quantity, and for each reserved quantity that exceeds
// the capacity.
func (c *Config) checkResources(done *contain.ConfigCheck) {
	for _, name := range slices.Sorted(maps.Keys(c.Scheduling.Capacity)) {
		q := c.Scheduling.Capacity[name]
		done.FaultIf(q.Sign() < 0, "Scheduling.Capacity: "+string(name)+" is negative")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Scheduling.Reserved)) {
		q := c.Scheduling.Reserved[name]
		have, declared := c.Scheduling.Capacity[name]
		done.FaultIf(!declared || q.Sign() < 0 || q.Cmp(have) > 0, "Scheduling.Reserved: "+string(name)+" is not a part of the capacity")
	}
}

// allocatable returns the capacity less the reserved resources.
func (c *Config) allocatable() v1.ResourceList {
	list := c.Scheduling.Capacity.DeepCopy()
	for name, reserved := range c.Scheduling.Reserved {
		q := list[name]
		q.Sub(reserved)
		list[name] = q
	}
	return list
}

// resourceFieldAllocatable returns the allocatable resources that a resourceFieldRef shows. Where
// Capacity lacks a resource, MachineCapacity has it.
func (c *Config) resourceFieldAllocatable() v1.ResourceList {
	return mergeResources(c.allocatable(), c.Scheduling.MachineCapacity)
}

// machineMemoryBytes returns the memory of the machine, or 0 if the Config has none.
func (c *Config) machineMemoryBytes() uint64 {
	all := mergeResources(c.Scheduling.Capacity, c.Scheduling.MachineCapacity)
	return uint64(max(all.Memory().Value(), 0))
}

// mergeResources returns list, with the resources of defaults that list lacks.
func mergeResources(list, defaults v1.ResourceList) v1.ResourceList {
	all := make(v1.ResourceList, len(list)+len(defaults))
	maps.Copy(all, defaults)
	maps.Copy(all, list)
	return all
}

// admitFeatures returns a handler that rejects a pod with fields that the PodSyncer does not support,
// and names the fields. For fields that only have no effect, the handler records a warning event once
// per admission.
func admitFeatures(features func() podsync.Features, events runtime.EventRecorder) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		rejected, ignored := podsync.Unsupported(attrs.Pod, features())
		if len(rejected) > 0 {
			return unsupportedFieldsResult(rejected)
		}
		if len(ignored) > 0 && events != nil && !attrs.Trial {
			events.Event(attrs.Pod, v1.EventTypeWarning, "IgnoredField", "without effect on this node: "+describeProblems(ignored))
		}
		return syncloop.PodAdmitResult{Admit: true}
	})
}

func unsupportedFieldsResult(problems []podsync.Problem) syncloop.PodAdmitResult {
	result := syncloop.PodAdmitResult{Reason: "UnsupportedField", Message: "this node can not honour " + describeProblems(problems)}
	for _, p := range problems {
		result.Reasons = append(result.Reasons, allocation.Reason{
			Kind: allocation.KindUnsupportedField, Reason: result.Reason, Message: "this node can not honour " + describeProblems([]podsync.Problem{p}), Field: p.Field,
		})
	}
	return result
}

func describeProblems(problems []podsync.Problem) string {
	parts := make([]string, len(problems))
	for i, p := range problems {
		parts[i] = fmt.Sprintf("%s (%s)", p.Field, p.Why)
	}
	return strings.Join(parts, "; ")
}
