package allocation

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// Rule is an admission rule that decides by sums. The table adds up the claims of the pods, so a rule takes
// the same time for any number of pods. Both methods must be pure: the result depends on the arguments alone,
// and nothing is stored or changed. Any goroutine may call them.
type Rule interface {
	// Claims returns the claims of a pod by this rule. It is called for each version of a pod. For a pod of an
	// earlier agent that no source names, only the name, namespace and UID are set.
	Claims(pod *v1.Pod) Claims
	// Check returns the reasons why a pod with these claims cannot start beside the others; nil admits it.
	// staying are the admitted pods, and the waiting pods before this pod. terminating are the terminating
	// pods. They are empty if the question is WithoutTerminating or OnEmptyNode.
	//
	// If the first reason has Resource, Requested and Capacity, the refusal is valid while the other pods
	// claim more than Capacity minus Requested. As long as they do, a pod that waits for room is not checked again.
	Check(claims Claims, staying, terminating Sums) []Reason
}

// Claims are the claims of one pod by one rule. They are shared and must not be modified.
type Claims struct {
	// Quantities are amounts of named things, which the table adds up. The rule chooses the names.
	Quantities v1.ResourceList
	// Keys are things that only one pod can have, or that pods share if the rule allows it.
	Keys []Key
	// Fault means that the rule has panicked, so that nothing is known. The code that contains the panic sets it.
	// A resize then asks the rule although no quantity increases.
	Fault bool
}

// Key names a thing, such as a host port or a full name. Two keys name the same thing if Kind, Space and Name
// are equal. The rule chooses the names; Kind, Space and Value may be empty.
type Key struct {
	Kind, Space, Name string
	// Value says how the pod uses the thing, such as the address of a port.
	Value string
}

// keyID is the part of a Key that identifies the thing.
type keyID struct{ kind, space, name string }

// keyWithoutValue returns the part of the key that identifies the claimed thing: Kind, Space and Name.
func (k Key) keyWithoutValue() keyID { return keyID{k.Kind, k.Space, k.Name} }

// Holder is a pod that has a Key.
type Holder struct {
	UID             types.UID
	Namespace, Name string
	// Source is the name of the source of the pod; it may be empty.
	Source string
	// RuntimeOnly: an earlier agent has started the pod, and no source names it.
	RuntimeOnly bool
	// Value is the Value of the pod's Key.
	Value string
}

// Sums are the claims of several pods by one rule. The zero value has no pods. Sums are valid until the next
// call of a method of their table.
type Sums struct {
	pods podSet
	slot int
}

// podSet is a set of pods with their sums: a ledger, or a part of one.
type podSet interface {
	len() int
	requestedQuantity(slot int, name v1.ResourceName) resource.Quantity
	// forEachHolder calls yield with each pod that has a key, in order of arrival, until yield returns false.
	forEachHolder(slot int, key keyID, yield func(*entry) bool)
	listPods() []*v1.Pod
}

// Len returns the number of pods.
func (s Sums) Len() int {
	if s.pods == nil {
		return 0
	}
	return s.pods.len()
}

// Requested returns the sum of a quantity over all pods.
func (s Sums) Requested(name v1.ResourceName) resource.Quantity {
	if s.pods == nil {
		return resource.Quantity{}
	}
	return s.pods.requestedQuantity(s.slot, name)
}

// Holders calls yield with each pod that has a key, whatever its Value, in order of arrival, until yield
// returns false.
func (s Sums) Holders(key Key, yield func(Holder) bool) {
	if s.pods == nil {
		return
	}
	id := key.keyWithoutValue()
	s.pods.forEachHolder(s.slot, id, func(e *entry) bool {
		for _, k := range e.claimsAt(s.slot).Keys {
			if k.keyWithoutValue() == id && !yield(e.asHolder(k.Value)) {
				return false
			}
		}
		return true
	})
}

// asHolder returns the pod as a Holder, that is, a pod that has claimed a Key, with the given Value.
func (e *entry) asHolder(value string) Holder {
	return Holder{UID: e.UID, Namespace: e.Namespace, Name: e.Name, Source: e.Source, RuntimeOnly: e.RuntimeOnly, Value: value}
}
