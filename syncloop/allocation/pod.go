package allocation

import (
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// Pod is one incarnation of a pod with its claims. A Chain makes it.
type Pod struct {
	// Pod is the pod itself. It is shared and must not be modified.
	Pod             *v1.Pod
	UID             types.UID
	Namespace, Name string
	// Priority is spec.priority; 0 if the pod has none.
	Priority int32
	// Static: the pod is a static pod.
	Static bool
	// Source is the name of the source of the pod; it may be empty.
	Source string
	// RuntimeOnly: an earlier agent has started the pod, and no source names it.
	RuntimeOnly bool
	// Claims are the requests, the host ports and the full name.
	Claims Claims

	ownClaims []Claims // the claims by the rules of the chain that are not built in
}

// The keys of the built-in rules.
const (
	keyPodName  = "pod"
	keyHostPort = "hostPort"
	valueStatic = "static"
)

// Priority returns spec.priority of a pod, or 0 if it has none.
func Priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// Chain has the admission rules of a node in the order in which they are asked. The first decisive refusal is
// the answer (Snapshot.IsDecisive). If no refusal is decisive, the first refusal is the answer, and the pod is
// Pending. A Chain is immutable, so any goroutine may use it.
type Chain struct {
	rules    []Rule
	slots    []int // by rule: the slot of its claims
	ownRules []Rule
}

// NewChain returns a chain of rules. A nil rule is the place of a handler, which the table asks by an Ask
// effect.
func NewChain(rules ...Rule) *Chain {
	c := &Chain{rules: slices.Clone(rules), slots: make([]int, len(rules))}
	for i, rule := range rules {
		if rule == nil || usesBuiltInClaims(rule) {
			continue // It uses slot 0, the built-in claims.
		}
		c.ownRules = append(c.ownRules, rule)
		c.slots[i] = len(c.ownRules)
	}
	return c
}

// usesBuiltInClaims reports whether a rule is built in, or wraps a built-in rule and says so by a method
// UsesBuiltInClaims.
func usesBuiltInClaims(rule Rule) bool {
	switch r := rule.(type) {
	case builtIn:
		return true
	case interface{ UsesBuiltInClaims() bool }:
		return r.UsesBuiltInClaims()
	}
	return false
}

// Pod returns a pod with the claims of its spec.
func (c *Chain) Pod(pod *v1.Pod, source string, static bool) Pod {
	p := Pod{
		Pod: pod, UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, Priority: Priority(pod), Source: source, Static: static,
	}
	p.setBuiltInClaims(podspec.ClaimForPod(pod))
	return c.withOwnClaims(p)
}

// RuntimePod returns a pod that only the runtime has. text is the annotation of the sandbox with the claims of
// the pod. If it cannot be parsed, the pod claims one of "pods".
func (c *Chain) RuntimePod(pod *v1.Pod, text, source string, static bool) Pod {
	p := Pod{Pod: pod, UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, Source: source, Static: static, RuntimeOnly: true}
	p.setBuiltInClaims(podspec.ParseClaim(text))
	return c.withOwnClaims(p)
}

// withOwnClaims returns p with the claims that each rule of the host program reports for the pod.
func (c *Chain) withOwnClaims(p Pod) Pod {
	if len(c.ownRules) > 0 {
		p.ownClaims = make([]Claims, len(c.ownRules))
		for i, rule := range c.ownRules {
			p.ownClaims[i] = rule.Claims(p.Pod)
		}
	}
	return p
}

// setBuiltInClaims sets what the pod claims for the built-in rules: its full name, its host ports and its
// resource requests.
func (p *Pod) setBuiltInClaims(claim podspec.Claim) {
	keys := make([]Key, 0, 1+len(claim.Ports))
	name := Key{Kind: keyPodName, Space: p.Namespace, Name: p.Name}
	if p.Static {
		name.Value = valueStatic
	}
	keys = append(keys, name)
	for _, port := range claim.Ports {
		keys = append(keys, Key{Kind: keyHostPort, Space: string(port.Protocol), Name: strconv.Itoa(int(port.Port)), Value: port.IP})
	}
	p.Claims = Claims{Quantities: claim.Requests, Keys: keys}
}

// claimsAt returns what the pod claims for a slot: 0 for the built-in rules, and n for the n-th rule of the
// host program. It returns empty claims if the pod has no such slot.
func (p *Pod) claimsAt(slot int) *Claims {
	switch {
	case slot == 0:
		return &p.Claims
	case slot <= len(p.ownClaims):
		return &p.ownClaims[slot-1]
	}
	return &Claims{}
}

// Snapshot has the pods beside which a pod would start. It is valid until the next call of a method of its
// table.
type Snapshot struct {
	// Staying are the admitted pods, and the waiting pods before this pod, with their built-in claims.
	Staying Sums
	// Terminating are the terminating pods. They are empty if Trial is true.
	Terminating Sums
	// Trial: the question is WithoutTerminating or OnEmptyNode. An answer that admits the pod does not start
	// it: the pod waits. A refusal may reject the pod. Trial is false for the questions that search the
	// blockers of the pod, although their answers do not start it either.
	Trial bool
}

// newSnapshot returns a snapshot with these pods. If terminating is nil, the snapshot is a trial: the chain's
// answer does not start the pod.
func newSnapshot(staying, terminating podSet) Snapshot {
	s := Snapshot{Staying: Sums{pods: staying}, Trial: terminating == nil}
	if terminating != nil {
		s.Terminating.pods = terminating
	}
	return s
}

// hasTerminatingPods reports whether the snapshot has a terminating pod.
func (s Snapshot) hasTerminatingPods() bool { return s.Terminating.Len() > 0 }

// Pods returns all pods of the snapshot: first Staying, then Terminating. The list is shared and must not be
// modified.
func (s Snapshot) Pods() []*v1.Pod {
	staying := listPods(s.Staying.pods)
	if !s.hasTerminatingPods() {
		return staying
	}
	return append(staying[:len(staying):len(staying)], listPods(s.Terminating.pods)...)
}

// listPods returns the pods of a set, or nil for a nil set.
func listPods(set podSet) []*v1.Pod {
	if set == nil {
		return nil
	}
	return set.listPods()
}

// NewSnapshot returns a snapshot in which all these pods are staying. Two pods with one UID count twice.
func (c *Chain) NewSnapshot(pods ...Pod) Snapshot {
	sum := &ledger{slots: 1 + len(c.ownRules)}
	for i, pod := range pods {
		pod.UID = types.UID(strconv.Itoa(i)) // The ledger has one pod for each UID.
		sum.putPod(pod)
	}
	return newSnapshot(sum, &ledger{})
}

// Check asks one rule of the chain about a pod. It returns nil for a handler, which has no rule.
func (c *Chain) Check(index int, pod *Pod, beside Snapshot) []Reason {
	rule, slot := c.rules[index], c.slots[index]
	if rule == nil {
		return nil
	}
	staying, terminating := beside.Staying, beside.Terminating
	staying.slot, terminating.slot = slot, slot
	return rule.Check(*pod.claimsAt(slot), staying, terminating)
}

// Shortage returns the shortage in the first reason of a rule, or the zero value if there is none.
func (c *Chain) Shortage(index int, reasons []Reason) Shortage {
	if c.rules[index] == nil || len(reasons) == 0 || reasons[0].Resource == "" {
		return Shortage{}
	}
	r := &reasons[0]
	room := r.Capacity.DeepCopy()
	room.Sub(r.Requested)
	return Shortage{resource: r.Resource, room: room, slot: c.slots[index]}
}

// HasOnlyBuiltInRules reports whether all rules of the chain are built in, so that they need only the built-in
// claims.
func (c *Chain) HasOnlyBuiltInRules() bool { return len(c.ownRules) == 0 }
