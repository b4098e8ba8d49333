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
	// KindInvalid: the pod cannot be run as it is. Field is set.
	KindInvalid ReasonKind = "Invalid"
	// KindDraining: the node takes no new pods.
	KindDraining ReasonKind = "Draining"
	// KindCordoned: the node is marked unschedulable, and the pod does not tolerate that.
	// Taint is set.
	KindCordoned ReasonKind = "Cordoned"
	// KindPodName: another pod has the name. Holder is set.
	KindPodName ReasonKind = "PodName"
	// KindSchedulingGate: the pod has scheduling gates. Field is set.
	KindSchedulingGate ReasonKind = "SchedulingGate"
	// KindOS: the pod is written for another operating system. Field is set.
	KindOS ReasonKind = "OS"
	// KindPodCount: the node has its largest number of pods. Resource, Requested, Used and
	// Capacity are set.
	KindPodCount ReasonKind = "PodCount"
	// KindResource: too little is left of a resource. Resource, Requested, Used and Capacity
	// are set.
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
	// KindUnsupportedField: the node cannot honour a field of the pod. Field is set.
	KindUnsupportedField ReasonKind = "UnsupportedField"
	// KindHandler: an admission handler or rule of the program has refused, or has panicked.
	KindHandler ReasonKind = "Handler"
	// KindFault: a rule has panicked. The code that contains the panic returns it as the only reason:
	// a pod that arrives is postponed, and a pod that waits is refused at the second time.
	KindFault ReasonKind = "Fault"
)

// Reason is one reason why a pod does not fit on a node. Fields that its Kind does not
// name are empty. As an error it is the Reason and the Message.
type Reason struct {
	Kind ReasonKind
	// Reason is the word that the status of a rejected pod has, which is the kubelet's:
	// OutOfcpu, NodePorts, NodeAffinity.
	Reason string
	// Message is one sentence for people.
	Message string
	// Resource is what too little is left of. Requested is what the pod asks for, Used what
	// other pods have, those that are ending and those that wait before this one included,
	// and Capacity what pods may have together.
	Resource                  v1.ResourceName
	Requested, Used, Capacity resource.Quantity
	// Port is the host port: HostIP, HostPort and Protocol are set.
	Port v1.ContainerPort
	// Holder is the pod that has the port, or the name.
	Holder types.NamespacedName
	// Taint is a taint that the pod does not tolerate.
	Taint v1.Taint
	// Field is the path of the field of the pod, such as spec.containers[0].image.
	Field string
	// Label is the key of the label that the node selector asks for.
	Label string
}

// Error is the reason and the message.
func (r Reason) Error() string { return r.Reason + ": " + r.Message }

// SchedulingOnly reports whether the reason only keeps schedulers from placing the pod on
// the node: the node is cordoned, or has a taint with the effect NoSchedule. A node admits
// the pod all the same, as a kubelet does.
func (r Reason) SchedulingOnly() bool {
	return r.Kind == KindCordoned || r.Kind == KindTaint && r.Taint.Effect == v1.TaintEffectNoSchedule
}
