package allocation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// DefaultMaxPods is the maximum number of pods of a node, as in the kubelet.
const DefaultMaxPods = 110

// reasonName is the reason of a refusal because of the full name.
const reasonName = "NameConflict"

// builtIn is a rule that uses the claims that every pod has.
type builtIn func(claims Claims, staying, terminating Sums) []Reason

// Claims implements Rule.
func (builtIn) Claims(pod *v1.Pod) Claims {
	p := Pod{Pod: pod, Namespace: pod.Namespace, Name: pod.Name}
	p.setBuiltInClaims(podspec.ClaimForPod(pod))
	return p.Claims
}

// Check implements Rule.
func (b builtIn) Check(claims Claims, staying, terminating Sums) []Reason {
	return b(claims, staying, terminating)
}

// Names returns a rule that refuses a pod if another pod has its full name and exactly one of the two is
// static. The rule admits two static pods of one name, because their workers run one after the other. It admits
// two pods of one name that are not static, because a source delivers only one of them.
func Names() Rule {
	return builtIn(func(claims Claims, staying, terminating Sums) (reasons []Reason) {
		for _, key := range claims.Keys {
			if key.Kind != keyPodName {
				continue
			}
			conflicts := func(h Holder) bool {
				if h.Value != key.Value {
					reasons = []Reason{nameConflictReason(h, "a pod of "+describeSource(h))}
				}
				return reasons == nil
			}
			if staying.Holders(key, conflicts); reasons == nil {
				terminating.Holders(key, conflicts)
			}
		}
		return reasons
	})
}

// nameConflictReason returns the reason for refusing a pod whose full name is taken by pod h. takenBy describes
// that pod in the message.
func nameConflictReason(h Holder, takenBy string) Reason {
	return Reason{
		Kind: KindPodName, Reason: reasonName, Holder: types.NamespacedName{Namespace: h.Namespace, Name: h.Name},
		Message: fmt.Sprintf("the name %s/%s is taken by %s", h.Namespace, h.Name, takenBy),
	}
}

// describeSource returns the name of the source of a pod for messages, in quotes, or "unknown source" if the
// name is empty.
func describeSource(h Holder) string {
	if h.Source == "" {
		return "unknown source"
	}
	return fmt.Sprintf("source %q", h.Source)
}

// PodCount returns a rule that refuses a pod when the node has max pods; 0 is DefaultMaxPods.
func PodCount(max int) Rule {
	if max == 0 {
		max = DefaultMaxPods
	}
	return builtIn(func(_ Claims, staying, terminating Sums) []Reason {
		n := staying.Len() + terminating.Len()
		if n < max {
			return nil
		}
		return []Reason{{
			Kind: KindPodCount, Reason: "OutOfpods", Message: fmt.Sprintf("the node runs %d pods and takes at most %d", n, max),
			Resource: v1.ResourcePods, Requested: intQuantity(1), Used: intQuantity(n), Capacity: intQuantity(max),
		}}
	})
}

// intQuantity returns an integer as a resource quantity.
func intQuantity(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }

// HostPorts returns a rule that refuses a pod whose host port another pod has.
func HostPorts() Rule {
	return builtIn(func(claims Claims, staying, terminating Sums) (reasons []Reason) {
		for _, key := range claims.Keys {
			if key.Kind != keyHostPort {
				continue
			}
			port := hostPortOfKey(key, key.Value)
			found := false
			conflicts := func(h Holder) bool {
				if found = hostPortOfKey(key, h.Value).Conflicts(port); found {
					reasons = append(reasons, hostPortReason(port, h))
				}
				return !found
			}
			if staying.Holders(key, conflicts); !found {
				terminating.Holders(key, conflicts)
			}
		}
		return reasons
	})
}

// hostPortOfKey returns the port number and the protocol of a host port key, with the given IP address. The
// name of the key must be a decimal number.
func hostPortOfKey(key Key, ip string) podspec.HostPort {
	var n int32
	for _, digit := range key.Name {
		n = n*10 + digit - '0'
	}
	return podspec.HostPort{IP: ip, Protocol: v1.Protocol(key.Space), Port: n}
}

// hostPortReason returns the reason for refusing a pod whose host port is taken by pod h.
func hostPortReason(port podspec.HostPort, h Holder) Reason {
	return Reason{
		Kind: KindHostPort, Reason: "NodePorts", Message: fmt.Sprintf("host port %s is taken by pod %s/%s", port, h.Namespace, h.Name),
		Port:   v1.ContainerPort{HostIP: port.IP, HostPort: port.Port, Protocol: port.Protocol},
		Holder: types.NamespacedName{Namespace: h.Namespace, Name: h.Name},
	}
}

// Resources returns a rule that refuses a pod that requests more of a resource than is left. allocatable is
// the sum that all pods may request; "pods" in it is the maximum number of pods. A resource that is not in it
// is not checked.
func Resources(allocatable v1.ResourceList) Rule {
	allocatable = allocatable.DeepCopy()
	return ResourcesFrom(func() v1.ResourceList { return allocatable })
}

// ResourcesFrom is Resources for a node whose allocatable resources change. It calls allocatable for each
// question. After a change the caller calls Table.Recheck.
func ResourcesFrom(allocatable func() v1.ResourceList) Rule {
	return builtIn(func(claims Claims, staying, terminating Sums) (reasons []Reason) {
		allocatable := allocatable()
		for _, name := range slices.SortedFunc(maps.Keys(allocatable), compareByCheckOrder) {
			want, ok := claims.Quantities[name]
			if !ok || want.Sign() <= 0 {
				continue
			}
			used := staying.Requested(name)
			used.Add(terminating.Requested(name))
			if exceedsCapacity(want, used, allocatable[name]) {
				reasons = append(reasons, resourceReason(name, want, used, allocatable[name]))
			}
		}
		return reasons
	})
}

// exceedsCapacity reports whether used plus want is more than the capacity.
func exceedsCapacity(want, used, capacity resource.Quantity) bool {
	sum := used.DeepCopy()
	sum.Add(want)
	return sum.Cmp(capacity) > 0
}

// resourceReason returns the reason for refusing a pod that requests more of a resource than the node has left.
func resourceReason(name v1.ResourceName, want, used, capacity resource.Quantity) Reason {
	return Reason{
		Kind: KindResource, Reason: "OutOf" + string(name), Resource: name, Requested: want, Used: used, Capacity: capacity,
		Message: fmt.Sprintf("the node has not enough %s: requested %s, used %s, capacity %s",
			name, want.String(), used.String(), capacity.String()),
	}
}

// compareByCheckOrder compares two resource names by the order in which the kubelet checks resources, and then
// by name. The order matters because the first resource that does not fit is the reason of the rejection.
func compareByCheckOrder(a, b v1.ResourceName) int {
	if x, y := checkOrderIndex(a), checkOrderIndex(b); x != y {
		return x - y
	}
	return strings.Compare(string(a), string(b))
}

// checkOrderIndex returns 0 for pods, 1 for CPU, 2 for memory, 3 for ephemeral storage and 4 for any other
// resource. The kubelet checks them in this order.
func checkOrderIndex(name v1.ResourceName) int {
	first := [...]v1.ResourceName{v1.ResourcePods, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}
	if i := slices.Index(first[:], name); i >= 0 {
		return i
	}
	return len(first)
}
