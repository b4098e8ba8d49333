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

// Scheduling is the part of a node that decides which pods fit on it. A scheduler asks it where to
// place a pod. Its methods never block and are safe for concurrent use, before Run too.
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
		// addresses are those of the node at the last Recheck.
		addresses []string
	}
}

// Scheduling returns the part of the node that a scheduler uses. It is the same at every call.
func (n *Node) Scheduling() *Scheduling { return n.scheduling }

// Allocatable returns what all pods together may request, by resource: Config.Scheduling.Capacity less
// Config.Scheduling.Reserved, or what Config.Scheduling.View says, and as "pods" how many pods may be
// active at once. The list is the caller's. It never blocks and may be called from anywhere.
func (s *Scheduling) Allocatable() v1.ResourceList {
	list := s.nodeInfo().Allocatable.DeepCopy()
	if list == nil {
		list = make(v1.ResourceList, 1)
	}
	most := *resource.NewQuantity(int64(cmp.Or(s.config.Scheduling.MaxPods, syncloop.DefaultMaxPods)), resource.DecimalSI)
	if declared, ok := list[v1.ResourcePods]; !ok || declared.Cmp(most) > 0 {
		list[v1.ResourcePods] = most
	}
	return list
}

// Allocated returns the sum of the requests of all pods that were admitted and have not ended, by
// resource, and their number as "pods". Init containers, sidecars and overhead count as the
// scheduler counts them. A pod that Apply has accepted counts at once if it fits; a pod that waits
// does not count. A pod counts until its worker knows that its containers have stopped. Watch and
// WatchFrom report that end only when Allocated no longer counts the pod. Allocatable less
// Allocated is free.
//
// The list is the caller's. Allocated never blocks and may be called from anywhere, before Run too;
// before Ready it may lack pods that ran before this process.
func (s *Scheduling) Allocated() v1.ResourceList { return s.handlers.Allocated() }

// Requests returns what a pod requests of a node, as Allocated counts it: with init containers,
// sidecars and overhead, and one of "pods". The list is the caller's, and the pod is only read.
func Requests(pod *v1.Pod) v1.ResourceList {
	pod = pod.DeepCopy()
	validation.Default(pod)
	return podspec.ClaimForPod(pod).Requests.DeepCopy()
}

// Fits reports whether the pod fits on the node now. It returns nil if Apply would have it
// admitted, or a *syncloop.FitError with every reason why not. A scheduler ranks nodes by
// it. Fits changes nothing, and nothing is reserved by it. What Apply has taken counts at once. A
// pod that Delete or Evict was called for counts as ending at once; one that Apply has given a
// deletion timestamp, or Replace has left out, counts as ending when the loop has handled that. If
// two goroutines call Fits before either calls Apply, both may find room: a scheduler calls both under
// one lock. If the error has Waits set, Apply would keep the pod
// Pending until others have ended.
//
// Two reasons are those of schedulers only (syncloop.FitError.SchedulingOnly): the node is
// cordoned, or has a taint with the effect NoSchedule, and the pod does not tolerate it. A
// node admits such a pod all the same, as a kubelet does.
//
// The pod is completed as Apply does it, and not changed. An invalid one has no other
// reasons than that; it needs a UID and a name. If the node has a pod of its UID, that one
// does not count. On a node that is joined to an API server Fits answers for a pod that the
// scheduler of the cluster would bind.
//
// Fits never blocks and may be called from anywhere, before Run too; before Ready it may
// not know of pods that run from before. Its time depends on how many pods are ending, and
// not on how many others the node has, unless a handler of Config.Scheduling.Admit lists them. It
// returns ErrStopped when Run has ended.
func (s *Scheduling) Fits(pod *v1.Pod) error { return s.FitsWithout(pod) }

// FitsWithout is Fits as if the pods of these UIDs had ended, for a scheduler that looks for
// pods to preempt. It changes nothing. A scheduler that then calls Delete for each of them,
// and Apply for the pod right after, need not wait in between: the pod is Pending, with reason
// AdmissionDeferred, until they have ended, and what it needs is reserved for it. Evict in
// place of Delete leaves the pods Failed, with a reason that users can read.
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
	if fit.Reasons = s.validationReasons(pod); len(fit.Reasons) > 0 {
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

// Cordon marks the node unschedulable, as kubectl cordon does: from now on Fits says so of
// every pod that does not tolerate the taint node.kubernetes.io/unschedulable. Nothing else
// changes: a kubelet admits a pod that is bound to a cordoned node, and so does this node,
// be it by Apply or from any other source. What runs goes on. To refuse new pods use Drain.
//
// On a node that is joined to an API server spec.unschedulable of its object, which kubectl
// cordon sets, has the same effect; Cordon is not told to the API server. A restarted node
// is not cordoned. Cordon never blocks and may be called from anywhere, any number of times.
func (s *Scheduling) Cordon() { s.cordoned.Store(true) }

// Uncordon takes Cordon back. It never blocks and may be called from anywhere.
func (s *Scheduling) Uncordon() { s.cordoned.Store(false) }

// Cordoned reports whether Cordon was called last, and not Uncordon.
func (s *Scheduling) Cordoned() bool { return s.cordoned.Load() }

// Recheck asks again for the admission of all pods that wait: the node can do more, or
// Config.Scheduling.View has something new. It never blocks and may be called from anywhere.
func (s *Scheduling) Recheck() {
	s.handlers.Recheck()
	s.syncPodsIfAddressesChanged()
}

// syncPodsIfAddressesChanged requests a sync of every pod if the addresses of the node have changed since
// the last Recheck: the statuses of pods have them.
func (s *Scheduling) syncPodsIfAddressesChanged() {
	ips := slices.Clone(s.nodeInfo().HostIPs)
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

// validationReasons returns why Apply would refuse a pod.
func (s *Scheduling) validationReasons(pod *v1.Pod) []allocation.Reason {
	faults := validation.Validate(pod)
	if len(faults) > 0 && s.host.mayHaveAccepted(pod) {
		return nil
	}
	return invalidReasons(faults)
}

// invalidReasons returns the faults of a pod as reasons, each message once.
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

func invalidReason(fault *field.Error) allocation.Reason {
	return allocation.Reason{Kind: allocation.KindInvalid, Reason: reasonInvalid, Message: plain.Fields(field.ErrorList{fault}), Field: fault.Field}
}

// unschedulableReasons returns why a scheduler does not place a pod on the node.
func (s *Scheduling) unschedulableReasons(pod *v1.Pod) []allocation.Reason {
	info := s.nodeInfo()
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

// nameConflictReasons returns a reason if another pod has the full name of the pod: Apply refuses the second one.
func (s *Scheduling) nameConflictReasons(pod *v1.Pod, removed []types.UID) []allocation.Reason {
	other, ok := s.manager.GetPodByFullName(podmanager.FullName(pod))
	if !ok || other.UID == pod.UID || slices.Contains(removed, other.UID) || podmanager.IsStaticPod(other) || s.config.hasAPIServerSource() {
		return nil
	}
	name := types.NamespacedName{Namespace: other.Namespace, Name: other.Name}
	return []allocation.Reason{{Kind: allocation.KindPodName, Reason: "NameConflict", Message: name.String() + " is the name of another pod", Holder: name}}
}

// admissionInfo returns the node as admission sees it. A panic of Config.Scheduling.View is not contained.
func (s *Scheduling) admissionInfo() NodeInfo {
	info := s.config.Scheduling.View.Node()
	if info.Allocatable == nil {
		info.Allocatable = s.config.allocatable()
	}
	return info
}

// nodeInfo is admissionInfo with a panic of Config.Scheduling.View contained.
func (s *Scheduling) nodeInfo() NodeInfo {
	return contain.CallOrDefault(s.guard, "View.Node", NodeInfo{}, s.admissionInfo)
}
