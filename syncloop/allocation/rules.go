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

// DefaultMaxPods is how many pods a node takes, as for the kubelet.
const DefaultMaxPods = 110

// reasonName is the reason of a refusal because of a full name.
const reasonName = "NameConflict"

// builtIn is a rule about the claims that each pod has.
type builtIn func(claims Claims, staying, ending Sums) []Reason

// Claims implements Rule.
func (builtIn) Claims(pod *v1.Pod) Claims {
	p := Pod{Pod: pod, Namespace: pod.Namespace, Name: pod.Name}
	p.setBuiltInClaims(podspec.ClaimForPod(pod))
	return p.Claims
}

// Check implements Rule.
func (b builtIn) Check(claims Claims, staying, ending Sums) []Reason {
	return b(claims, staying, ending)
}

// Names refuses a static pod that has the full name of a pod that is not static, and the other way
// round. The workers let two static pods of one name take turns, and a source delivers only one of
// two other pods.
func Names() Rule {
	return builtIn(func(claims Claims, staying, ending Sums) (reasons []Reason) {
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
				ending.Holders(key, conflicts)
			}
		}
		return reasons
	})
}

// nameConflictReason is the reason of a pod whose full name another pod has.
func nameConflictReason(h Holder, by string) Reason {
	return Reason{
		Kind: KindPodName, Reason: reasonName, Holder: types.NamespacedName{Namespace: h.Namespace, Name: h.Name},
		Message: fmt.Sprintf("the name %s/%s is taken by %s", h.Namespace, h.Name, by),
	}
}

func describeSource(h Holder) string {
	if h.Source == "" {
		return "unknown source"
	}
	return fmt.Sprintf("source %q", h.Source)
}

// PodCount refuses a pod when the node has max pods already; 0 is DefaultMaxPods.
func PodCount(max int) Rule {
	if max == 0 {
		max = DefaultMaxPods
	}
	return builtIn(func(_ Claims, staying, ending Sums) []Reason {
		n := staying.Len() + ending.Len()
		if n < max {
			return nil
		}
		return []Reason{{
			Kind: KindPodCount, Reason: "OutOfpods", Message: fmt.Sprintf("the node runs %d pods and takes at most %d", n, max),
			Resource: v1.ResourcePods, Requested: quantityOf(1), Used: quantityOf(n), Capacity: quantityOf(max),
		}}
	})
}

func quantityOf(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }

// HostPorts refuses a pod that needs a host port which another pod has.
func HostPorts() Rule {
	return builtIn(func(claims Claims, staying, ending Sums) (reasons []Reason) {
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
				ending.Holders(key, conflicts)
			}
		}
		return reasons
	})
}

// hostPortOfKey is the port of a key at an address.
func hostPortOfKey(key Key, ip string) podspec.HostPort {
	var n int32
	for _, digit := range key.Name {
		n = n*10 + digit - '0'
	}
	return podspec.HostPort{IP: ip, Protocol: v1.Protocol(key.Space), Port: n}
}

func hostPortReason(port podspec.HostPort, h Holder) Reason {
	return Reason{
		Kind: KindHostPort, Reason: "NodePorts", Message: fmt.Sprintf("host port %s is taken by pod %s/%s", port, h.Namespace, h.Name),
		Port:   v1.ContainerPort{HostIP: port.IP, HostPort: port.Port, Protocol: port.Protocol},
		Holder: types.NamespacedName{Namespace: h.Namespace, Name: h.Name},
	}
}

// Resources refuses a pod that requests more of a resource than is left of it. Allocatable is what
// pods may have together; "pods" among it is how many there may be. A resource that is not in it is
// not checked.
func Resources(allocatable v1.ResourceList) Rule {
	allocatable = allocatable.DeepCopy()
	order := slices.SortedFunc(maps.Keys(allocatable), compareImportance)
	return builtIn(func(claims Claims, staying, ending Sums) (reasons []Reason) {
		for _, name := range order {
			want, ok := claims.Quantities[name]
			if !ok || want.Sign() <= 0 {
				continue
			}
			used := staying.Requested(name)
			used.Add(ending.Requested(name))
			if exceeds(want, used, allocatable[name]) {
				reasons = append(reasons, resourceReason(name, want, used, allocatable[name]))
			}
		}
		return reasons
	})
}

// exceeds reports whether less than want is left of a resource.
func exceeds(want, used, capacity resource.Quantity) bool {
	sum := used.DeepCopy()
	sum.Add(want)
	return sum.Cmp(capacity) > 0
}

func resourceReason(name v1.ResourceName, want, used, capacity resource.Quantity) Reason {
	return Reason{
		Kind: KindResource, Reason: "OutOf" + string(name), Resource: name, Requested: want, Used: used, Capacity: capacity,
		Message: fmt.Sprintf("the node has not enough %s: requested %s, used %s, capacity %s",
			name, want.String(), used.String(), capacity.String()),
	}
}

// compareImportance orders resources as the kubelet looks at them: the first that does not fit is the
// reason.
func compareImportance(a, b v1.ResourceName) int {
	if x, y := importance(a), importance(b); x != y {
		return x - y
	}
	return strings.Compare(string(a), string(b))
}

func importance(name v1.ResourceName) int {
	first := [...]v1.ResourceName{v1.ResourcePods, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}
	if i := slices.Index(first[:], name); i >= 0 {
		return i
	}
	return len(first)
}
