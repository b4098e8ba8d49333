package allocation

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// Rule is an admission rule that decides by sums. The table adds up what the pods claim, so a rule
// takes the same time for any number of pods. Both methods are pure: they depend on their arguments
// alone, keep nothing and change nothing. Both may be called by any goroutine.
type Rule interface {
	// Claims returns the claims of a pod by this rule. It is called for each version of a pod. A
	// pod that an earlier agent has started and that no source names has no more than its name,
	// namespace and UID here.
	Claims(pod *v1.Pod) Claims
	// Check returns why a pod with these claims cannot start beside the others; nil admits it.
	// Staying are the admitted pods, and those that wait before this pod. Ending are the pods whose
	// containers have to stop; they are empty where the question is how it would be without them.
	//
	// A first reason with Resource, Requested and Capacity says that the pod is refused for as long
	// as the other pods claim more than Capacity less Requested: a pod that waits until the node has
	// room is not asked about before that.
	Check(claims Claims, staying, ending Sums) []Reason
}

// Claims are the claims of one pod by one rule. They are shared and only read.
type Claims struct {
	// Quantities are amounts of named things, which the table adds up. The names are the rule's own.
	Quantities v1.ResourceList
	// Keys are things that a pod has for itself, or shares if the rule allows that.
	Keys []Key
}

// Key names a thing, such as a host port or a full name. Pods share a thing if Kind, Space and Name
// are equal. The names are the rule's own; Kind, Space and Value may be empty.
type Key struct {
	Kind, Space, Name string
	// Value is how the pod takes the thing, such as the address of a port.
	Value string
}

// keyID is the identity of a Key.
type keyID struct{ kind, space, name string }

func (k Key) id() keyID { return keyID{k.Kind, k.Space, k.Name} }

// Holder is a pod that has a Key.
type Holder struct {
	UID             types.UID
	Namespace, Name string
	// Source is the name of the source that the pod came from; it may be empty.
	Source string
	// RuntimeOnly: an earlier agent has started the pod, and no source names it.
	RuntimeOnly bool
	// Value is the Value of the holder's Key.
	Value string
}

// Sums are the claims of several pods by one rule. The zero value has no pods. Sums are valid until the next
// input of their table.
type Sums struct {
	pods podSet
	slot int
}

// podSet are several pods: a ledger, or a part of one.
type podSet interface {
	len() int
	requested(slot int, name v1.ResourceName) resource.Quantity
	// holders calls yield with the pods that have a key, in order of arrival, until it is false.
	holders(slot int, key keyID, yield func(*entry) bool)
	pods() []*v1.Pod
}

// Len returns the number of pods.
func (s Sums) Len() int {
	if s.pods == nil {
		return 0
	}
	return s.pods.len()
}

// Requested returns how much of a quantity all pods claim.
func (s Sums) Requested(name v1.ResourceName) resource.Quantity {
	if s.pods == nil {
		return resource.Quantity{}
	}
	return s.pods.requested(s.slot, name)
}

// Holders calls yield with each pod that has a key, whatever its Value, in order of arrival, until
// yield returns false.
func (s Sums) Holders(key Key, yield func(Holder) bool) {
	if s.pods == nil {
		return
	}
	id := key.id()
	s.pods.holders(s.slot, id, func(e *entry) bool {
		for _, k := range e.claimsAt(s.slot).Keys {
			if k.id() == id && !yield(e.holder(k.Value)) {
				return false
			}
		}
		return true
	})
}

func (e *entry) holder(value string) Holder {
	return Holder{UID: e.UID, Namespace: e.Namespace, Name: e.Name, Source: e.Source, RuntimeOnly: e.RuntimeOnly, Value: value}
}
