package allocation

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// ReasonKind says what a Reason is about, and so which of its fields are set.
type ReasonKind string

// The kinds of reasons.
const (
	// KindInvalid: the spec of the pod is invalid. Field is set.
	KindInvalid ReasonKind = "Invalid"
	// KindDraining: the node takes no new pods.
	KindDraining ReasonKind = "Draining"
	// KindCordoned: the node is marked unschedulable, and the pod does not tolerate that.
	// Taint is set.
	KindCordoned ReasonKind = "Cordoned"
	// KindPodName: another pod has the full name. Holder is set.
	KindPodName ReasonKind = "PodName"
	// KindSchedulingGate: the pod has scheduling gates. Field is set.
	KindSchedulingGate ReasonKind = "SchedulingGate"
	// KindOS: the pod is written for another operating system. Field is set.
	KindOS ReasonKind = "OS"
	// KindPodCount: the node has its maximum number of pods. Resource, Requested, Used and Capacity are set.
	KindPodCount ReasonKind = "PodCount"
	// KindResource: too little of a resource is left. Resource, Requested, Used and Capacity are set.
	KindResource ReasonKind = "Resource"
	// KindNodeAffinity: the node selector or the required node affinity does not select the
	// node. Field is set, and Label if it is one label of the node selector.
	KindNodeAffinity ReasonKind = "NodeAffinity"
	// KindNodeName: spec.nodeName is another node. Field is set.
	KindNodeName ReasonKind = "NodeName"
	// KindHostPort: another pod has the host port. Port and Holder are set.
	KindHostPort ReasonKind = "HostPort"
	// KindTaint: the pod does not tolerate a taint. Taint is set.
	KindTaint ReasonKind = "Taint"
	// KindUnsupportedField: the node does not support a field of the pod. Field is set.
	KindUnsupportedField ReasonKind = "UnsupportedField"
	// KindHandler: an admission handler or rule of the host program has refused or has panicked.
	KindHandler ReasonKind = "Handler"
	// KindFault: a rule has panicked. The code that contains the panic returns it as the only reason. An
	// arriving pod is postponed, and a waiting pod is refused after the second panic.
	KindFault ReasonKind = "Fault"
)

// Reason is one reason why a pod does not fit on a node. Fields that its Kind does not name are empty. As an
// error it is the Reason and the Message.
type Reason struct {
	Kind ReasonKind
	// Reason is the kubelet's reason for the status of a rejected pod: OutOfcpu, NodePorts, NodeAffinity.
	Reason string
	// Message is one sentence for people.
	Message string
	// Resource is the resource that is short. Requested is the request of the pod. Used is the sum of the
	// pods in the Snapshot of the question: the admitted pods, the waiting pods before this pod, and the
	// terminating pods unless Trial is true. Capacity is the sum that all pods may have.
	Resource                  v1.ResourceName
	Requested, Used, Capacity resource.Quantity
	// Port is the host port: HostIP, HostPort and Protocol are set.
	Port v1.ContainerPort
	// Holder is the pod that has the port or the name.
	Holder types.NamespacedName
	// Taint is a taint that the pod does not tolerate.
	Taint v1.Taint
	// Field is the path of the field of the pod, such as spec.containers[0].image.
	Field string
	// Label is the key of a label that the node selector requires.
	Label string
}

// Error returns the reason and the message.
func (r Reason) Error() string { return r.Reason + ": " + r.Message }

// SchedulingOnly reports whether the reason only keeps schedulers from placing the pod on the node: the node
// is cordoned, or has a taint with the effect NoSchedule. The node admits such a pod, as a kubelet does.
func (r Reason) SchedulingOnly() bool {
	return r.Kind == KindCordoned || r.Kind == KindTaint && r.Taint.Effect == v1.TaintEffectNoSchedule
}
