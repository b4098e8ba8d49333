package node

import (
	"cmp"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/validation"
	"github.com/podkeel/podkeel/syncloop"
)

// Allocatable returns what all pods together may request, by resource: Config.Capacity less
// Config.Reserved, or what Config.View says, and as "pods" how many pods may be active at once. The
// list is the caller's. It never blocks and may be called from anywhere.
func (n *Node) Allocatable() v1.ResourceList {
	list := n.seenInfo().Allocatable.DeepCopy()
	if list == nil {
		list = make(v1.ResourceList, 1)
	}
	most := *resource.NewQuantity(int64(cmp.Or(n.config.MaxPods, syncloop.DefaultMaxPods)), resource.DecimalSI)
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
func (n *Node) Allocated() v1.ResourceList { return n.handlers.Allocated() }

// Requests returns what a pod requests of a node, as Allocated counts it: with init containers,
// sidecars and overhead, and one of "pods". The list is the caller's, and the pod is only read.
func Requests(pod *v1.Pod) v1.ResourceList {
	pod = pod.DeepCopy()
	validation.Default(pod)
	return podspec.ClaimOf(pod).Requests.DeepCopy()
}

// Fits reports whether the pod fits on the node now. It returns nil if Apply would have it
// admitted, or a *syncloop.FitError with every reason why not. A scheduler ranks nodes by
// it. Fits changes nothing, and nothing is reserved by it. What Apply has taken counts at once. A
// pod that Delete or Evict was called for counts as ending at once; one that Apply has given a
// deletion timestamp, or Replace has left out, when the loop has heard of it. Of two goroutines
// that ask before either applies both may be told that there is room: a scheduler asks and applies
// in one. If the error has Waits set, Apply would keep the pod
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
// not on how many others the node has, unless a handler of Config.Admit lists them. It
// returns ErrStopped when Run has ended.
func (n *Node) Fits(pod *v1.Pod) error { return n.FitsWithout(pod) }

// FitsWithout is Fits as if the pods of these UIDs had ended, for a scheduler that looks for
// pods to preempt. It changes nothing. A scheduler that then calls Delete for each of them,
// and Apply for the pod right after, need not wait in between: the pod is Pending, with reason
// AdmissionDeferred, until they have ended, and what it needs is reserved for it. Evict in
// place of Delete leaves the pods Failed, with a reason that users can read.
func (n *Node) FitsWithout(pod *v1.Pod, gone ...types.UID) error {
	if n.done.Opened() {
		return ErrStopped
	}
	fit := &syncloop.FitError{Node: n.config.Name}
	if pod == nil {
		fit.Reasons = []syncloop.Reason{invalidReason(field.Required(field.NewPath("pod"), ""))}
		return fit
	}
	pod = n.arriving(pod)
	fit.Pod = types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	if fit.Reasons = n.unacceptable(pod); len(fit.Reasons) > 0 {
		return fit
	}
	fit.Reasons = append(n.unschedulable(pod), n.sameName(pod, gone)...)
	var refused *syncloop.FitError
	if errors.As(n.handlers.FitsWithout(pod, gone...), &refused) {
		fit.Reasons, fit.Waits = append(fit.Reasons, refused.Reasons...), refused.Waits
	}
	if len(fit.Reasons) == 0 {
		return nil
	}
	return fit
}

// arriving is a copy of a pod as the loop would see it if Apply was called with it.
func (n *Node) arriving(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	validation.Default(pod)
	pod.Spec.NodeName = cmp.Or(pod.Spec.NodeName, n.config.Name)
	return fromHost(pod)
}

// unacceptable is why Apply would not take a pod.
func (n *Node) unacceptable(pod *v1.Pod) []syncloop.Reason {
	faults := append(checkUID(pod), validation.Validate(pod)...)
	if len(faults) > 0 && n.mayHaveAccepted(pod) {
		return nil
	}
	return invalidReasons(faults)
}

// invalidReasons are the faults of a pod, each path once.
func invalidReasons(faults field.ErrorList) (reasons []syncloop.Reason) {
	seen := make(map[string]bool, len(faults))
	for _, fault := range faults {
		if r := invalidReason(fault); !seen[r.Message] {
			seen[r.Message] = true
			reasons = append(reasons, r)
		}
	}
	return reasons
}

func invalidReason(fault *field.Error) syncloop.Reason {
	return syncloop.Reason{Kind: syncloop.KindInvalid, Reason: reasonInvalid, Message: plain.Fields(field.ErrorList{fault}), Field: fault.Field}
}

// unschedulable is why a scheduler does not place a pod on the node.
func (n *Node) unschedulable(pod *v1.Pod) []syncloop.Reason {
	info := n.seenInfo()
	reasons := syncloop.UntoleratedTaints(pod, info.Taints, v1.TaintEffectNoSchedule)
	cordoned := n.Cordoned() || info.Unschedulable
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

// cordonedReason is that of a node that is cordoned.
var cordonedReason = syncloop.Reason{
	Kind: syncloop.KindCordoned, Reason: "NodeUnschedulable", Message: "the node is cordoned, so it is unschedulable",
	Taint: v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule},
}

// sameName: Apply does not take two pods of one full name.
func (n *Node) sameName(pod *v1.Pod, gone []types.UID) []syncloop.Reason {
	other, ok := n.manager.GetPodByFullName(podmanager.FullName(pod))
	if !ok || other.UID == pod.UID || slices.Contains(gone, other.UID) || podmanager.IsStaticPod(other) || n.config.joined() {
		return nil
	}
	name := types.NamespacedName{Namespace: other.Namespace, Name: other.Name}
	return []syncloop.Reason{{Kind: syncloop.KindPodName, Reason: "NameConflict", Message: name.String() + " is the name of another pod", Holder: name}}
}

// info is the node as admission sees it.
func (n *Node) info() NodeInfo {
	info := n.config.View.Node()
	if info.Allocatable == nil {
		info.Allocatable = n.config.allocatable()
	}
	return info
}

// seenInfo is info for callers that no admission contains.
func (n *Node) seenInfo() NodeInfo {
	return contain.Or(n.guard, "View.Node", NodeInfo{}, n.info)
}
