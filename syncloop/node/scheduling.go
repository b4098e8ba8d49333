package node

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// Scheduling is the part of a node that decides which pods fit on it. A scheduler uses it to place
// pods. Its methods never block and are safe for concurrent use, before Run too.
type Scheduling struct {
	config   *Config
	guard    *contain.Guard
	host     *hostPods
	manager  *podmanager.Store
	handlers *syncloop.Handlers
	done     executor.Latch
	// requestSync requests a sync of a pod.
	requestSync func(uid types.UID)
	cordoned    atomic.Bool
	mu          struct {
		sync.Mutex
		// addresses are the node's addresses at the last Recheck.
		addresses []string
	}
}

// Scheduling returns the part of the node that a scheduler uses. Each call returns the same value.
func (n *Node) Scheduling() *Scheduling { return n.scheduling }

// Allocatable returns how much of each resource all pods together may request:
// Config.Scheduling.Capacity less Config.Scheduling.Reserved and less what hard eviction thresholds keep
// free, or the Allocatable of Config.Scheduling.View. As "pods" it has the maximum number of active pods. The caller may modify the
// list. It never blocks and may be called from any goroutine.
func (s *Scheduling) Allocatable() v1.ResourceList {
	list := s.nodeInfoOrEmpty().Allocatable.DeepCopy()
	if list == nil {
		list = make(v1.ResourceList, 1)
	}
	most := *resource.NewQuantity(int64(cmp.Or(s.config.Scheduling.MaxPods, syncloop.DefaultMaxPods)), resource.DecimalSI)
	if declared, ok := list[v1.ResourcePods]; !ok || declared.Cmp(most) > 0 {
		list[v1.ResourcePods] = most
	}
	return list
}

// Allocated returns the sum of the requests of all admitted pods that have not terminated, by resource,
// and their number as "pods". Init containers, sidecars and overhead count as in the scheduler. An
// applied pod counts at once if it fits; a waiting pod does not count. A pod counts until its worker
// knows that its containers have stopped. Watch and WatchFrom report that termination only after
// Allocated has stopped counting the pod. The free resources are Allocatable less Allocated.
//
// The caller may modify the list. Allocated never blocks and may be called from any goroutine, before
// Run too. Before Ready it may lack pods of an earlier process.
func (s *Scheduling) Allocated() v1.ResourceList { return s.handlers.Allocated() }

// Requests returns the requests of a pod as Allocated counts them: with init containers, sidecars and
// overhead, and one of "pods". The caller may modify the list. Requests does not modify the pod.
func Requests(pod *v1.Pod) v1.ResourceList {
	pod = pod.DeepCopy()
	validation.Default(pod)
	return podspec.ClaimForPod(pod).Requests.DeepCopy()
}

// Fits reports whether the pod fits on the node now. It returns nil if the node would admit the pod
// after Apply, or a *syncloop.FitError with every reason why not. A scheduler can rank nodes by it. If
// the error has Waits set, Apply would keep the pod Pending until other pods have terminated.
//
// Fits changes nothing and reserves nothing. An applied pod counts at once. A pod for which Delete or
// Evict was called counts as terminating at once. A pod that was applied with a deletion timestamp, or
// that Replace has left out, counts as terminating when the loop has handled it. If two goroutines call
// Fits before either calls Apply, both may find room: a scheduler calls both methods under one lock.
//
// Two reasons concern only schedulers (syncloop.FitError.SchedulingOnly): the node is cordoned, or the
// pod does not tolerate a NoSchedule taint. A node admits such a pod after Apply, as a kubelet does.
//
// Fits uses a copy of the pod with the defaults that Apply sets. The pod needs a name. For an
// invalid pod the only reasons are its faults. If the node has a pod of the same UID, that pod does not
// count. On a node that is joined to an API server, Fits answers for a pod that the scheduler of the
// cluster would bind.
//
// Fits never blocks and may be called from any goroutine, before Run too. Before Ready it may lack pods
// of an earlier process. Its cost depends on the number of terminating pods, and not on the number of
// other pods, unless a handler of Config.Scheduling.Admit lists them. It returns ErrStopped when Run
// has returned.
func (s *Scheduling) Fits(pod *v1.Pod) error { return s.FitsWithout(pod) }

// FitsWithout reports whether the pod would fit if the removed pods had terminated, for a scheduler
// that looks for pods to preempt. Otherwise it is like Fits. The scheduler can then call Delete for
// each removed pod, and Apply for the pod right after: the pod is Pending with reason AdmissionDeferred
// until the removed pods have terminated, and its resources are reserved. With Evict instead of Delete
// the removed pods are Failed, with a reason that users can read.
func (s *Scheduling) FitsWithout(pod *v1.Pod, removed ...types.UID) error {
	if s.done.Opened() {
		return ErrStopped
	}
	fit := &syncloop.FitError{Node: s.config.Name}
	if pod == nil {
		fit.Reasons = []allocation.Reason{invalidReason(field.Required(field.NewPath("pod"), ""))}
		return fit
	}
	pod = s.host.podAsApplied(pod)
	fit.Pod = types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	if fit.Reasons = s.invalidSpecReasonsUnlessAcceptedBefore(pod); len(fit.Reasons) > 0 {
		return fit
	}
	fit.Reasons = append(s.unschedulableReasons(pod), s.nameConflictReasons(pod, removed)...)
	var refused *syncloop.FitError
	if errors.As(s.handlers.FitsWithout(pod, removed...), &refused) {
		fit.Reasons, fit.Waits = append(fit.Reasons, refused.Reasons...), refused.Waits
	}
	if len(fit.Reasons) == 0 {
		return nil
	}
	return fit
}

// Cordon marks the node unschedulable, as kubectl cordon does. From then on Fits returns a reason for
// every pod that does not tolerate the taint node.kubernetes.io/unschedulable. Nothing else changes:
// like a kubelet, the node still admits pods, and running pods continue. To reject new pods use Drain.
//
// On a node that is joined to an API server, spec.unschedulable of the Node object, which kubectl
// cordon sets, has the same effect. Cordon does not change that object. A restarted node is not
// cordoned. Cordon never blocks and may be called from any goroutine, any number of times.
func (s *Scheduling) Cordon() { s.cordoned.Store(true) }

// Uncordon reverts Cordon. It never blocks and may be called from any goroutine.
func (s *Scheduling) Uncordon() { s.cordoned.Store(false) }

// Cordoned reports whether Cordon was called, without an Uncordon since then.
func (s *Scheduling) Cordoned() bool { return s.cordoned.Load() }

// Recheck runs the admission of all waiting pods again. Call it when the node has more resources or
// features, or when Config.Scheduling.View has changed. It never blocks and may be called from any
// goroutine.
func (s *Scheduling) Recheck() {
	s.handlers.Recheck()
	s.syncPodsIfAddressesChanged()
}

// syncPodsIfAddressesChanged requests a sync of every desired pod if the addresses of the node differ from
// those at the last call. The statuses of pods contain these addresses.
func (s *Scheduling) syncPodsIfAddressesChanged() {
	ips := slices.Clone(s.nodeInfoOrEmpty().HostIPs)
	s.mu.Lock()
	same := slices.Equal(ips, s.mu.addresses)
	s.mu.addresses = ips
	s.mu.Unlock()
	if same {
		return
	}
	for _, pod := range s.manager.GetPods() {
		s.requestSync(pod.UID)
	}
}

// invalidSpecReasonsUnlessAcceptedBefore returns the faults for which Apply would reject a pod, as admission
// reasons. It returns none for a pod that the node or an earlier process may have accepted before.
func (s *Scheduling) invalidSpecReasonsUnlessAcceptedBefore(pod *v1.Pod) []allocation.Reason {
	faults := validation.Validate(pod)
	if len(faults) > 0 && s.host.mayHaveAcceptedBefore(pod) {
		return nil
	}
	return invalidReasons(faults)
}

// invalidReasons converts the faults of a pod to admission reasons, without duplicate messages.
func invalidReasons(faults field.ErrorList) (reasons []allocation.Reason) {
	seen := make(map[string]bool, len(faults))
	for _, fault := range faults {
		if r := invalidReason(fault); !seen[r.Message] {
			seen[r.Message] = true
			reasons = append(reasons, r)
		}
	}
	return reasons
}

// invalidReason converts a fault of a pod to an admission reason of the kind Invalid.
func invalidReason(fault *field.Error) allocation.Reason {
	return allocation.Reason{Kind: allocation.KindInvalid, Reason: reasonInvalid, Message: plain.Fields(field.ErrorList{fault}), Field: fault.Field}
}

// unschedulableReasons returns a reason for each NoSchedule taint that the pod does not tolerate. If the node
// is cordoned and the pod does not tolerate that, it also returns the reason for the cordon, once.
func (s *Scheduling) unschedulableReasons(pod *v1.Pod) []allocation.Reason {
	info := s.nodeInfoOrEmpty()
	reasons := syncloop.UntoleratedTaints(pod, info.Taints, v1.TaintEffectNoSchedule)
	cordoned := s.Cordoned() || info.Unschedulable
	for i := range reasons {
		if reasons[i].Taint.Key == v1.TaintNodeUnschedulable {
			reasons[i], cordoned = cordonedReason, false
		}
	}
	if cordoned && len(syncloop.UntoleratedTaints(pod, []v1.Taint{cordonedReason.Taint}, v1.TaintEffectNoSchedule)) > 0 {
		reasons = append(reasons, cordonedReason)
	}
	return reasons
}

// cordonedReason is the reason of a cordoned node.
var cordonedReason = allocation.Reason{
	Kind: allocation.KindCordoned, Reason: "NodeUnschedulable", Message: "the node is cordoned, so it is unschedulable",
	Taint: v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule},
}

// nameConflictReasons returns a reason if another desired pod has the namespace and name of the pod, because
// Apply would reject the pod. It ignores static pods and the pods in removed. On a node with an API server as
// source it returns none.
func (s *Scheduling) nameConflictReasons(pod *v1.Pod, removed []types.UID) []allocation.Reason {
	other, ok := s.manager.GetPodByFullName(podmanager.FullName(pod))
	if !ok || other.UID == pod.UID || slices.Contains(removed, other.UID) || podmanager.IsStaticPod(other) || s.config.hasAPIServerSource() {
		return nil
	}
	name := types.NamespacedName{Namespace: other.Namespace, Name: other.Name}
	return []allocation.Reason{{Kind: allocation.KindPodName, Reason: "NameConflict", Message: name.String() + " is the name of another pod", Holder: name}}
}

// nodeInfoForAdmission returns the state of the node from Config.Scheduling.View. If the View does not set
// Allocatable, it is computed from the Config. A panic of the View reaches the caller.
func (s *Scheduling) nodeInfoForAdmission() NodeInfo {
	info := s.config.Scheduling.View.Node()
	if info.Allocatable == nil {
		info.Allocatable = s.config.declaredAllocatable()
	}
	return info
}

// nodeInfoOrEmpty returns the same as nodeInfoForAdmission, but an empty NodeInfo if Config.Scheduling.View
// panics. The guard records the panic.
func (s *Scheduling) nodeInfoOrEmpty() NodeInfo {
	return contain.CallOrDefault(s.guard, "View.Node", NodeInfo{}, s.nodeInfoForAdmission)
}
