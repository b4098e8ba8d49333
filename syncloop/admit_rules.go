package syncloop

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// DefaultMaxPods is the maximum number of pods of a node, as in the kubelet.
const DefaultMaxPods = allocation.DefaultMaxPods

// ruleHandler is an admission handler made from a rule that decides by sums. In a chain of Handlers the table
// of allocations checks the rule. Alone it adds up OtherPods.
type ruleHandler struct {
	rule  allocation.Rule
	chain *allocation.Chain // has only this rule
	// callsHost: the rule is built in and calls a function of the host program, which may panic.
	callsHost bool
}

// AdmitRule returns an admission handler for a rule that decides by sums. The claims of pods are added up as
// pods come and go, so a decision takes the same time for any number of pods. A panic of the rule counts as a
// panic of a handler. Do not wrap the handler in a PodAdmitAloneFunc.
func AdmitRule(rule allocation.Rule) PodAdmitHandler {
	return ruleHandler{rule: rule, chain: allocation.NewChain(rule)}
}

// Admit implements PodAdmitHandler.
func (r ruleHandler) Admit(attrs PodAdmitAttributes) PodAdmitResult {
	pod := toAllocationPod(r.chain, attrs.Pod)
	if attrs.snapshot == nil || !r.chain.HasOnlyBuiltInRules() {
		return Refused(r.chain.Check(0, &pod, newSnapshotOfPods(r.chain, attrs.OtherPods))...)
	}
	reasons := r.chain.Check(0, &pod, *attrs.snapshot)
	result := Refused(reasons...)
	result.short = r.chain.Shortage(0, reasons)
	return result
}

// toAllocationPod converts a pod to the form in which the allocation table stores pods. That form has the pod's
// resource requests, host ports and full name, and what the rules of the host program count for it.
func toAllocationPod(chain *allocation.Chain, pod *v1.Pod) allocation.Pod {
	return chain.Pod(pod, pod.Annotations[podmanager.ConfigSourceAnnotation], podmanager.IsStaticPod(pod))
}

// newSnapshotOfPods returns a snapshot of a node on which the given pods run. A nil pod counts as one pod
// without requests.
func newSnapshotOfPods(chain *allocation.Chain, pods []*v1.Pod) allocation.Snapshot {
	all := make([]allocation.Pod, len(pods))
	for i, pod := range pods {
		if pod == nil {
			pod = &v1.Pod{} // A nil pod counts as a pod without claims.
		}
		all[i] = toAllocationPod(chain, pod)
	}
	return chain.NewSnapshot(all...)
}

// AdmitNames returns a handler that refuses a static pod whose full name an active pod that is not static has,
// and the reverse. The first pod runs; a static pod waits for the name instead of being refused. The workers
// run two static pods of one name in turn. A source delivers only one of two other pods with the same name.
func AdmitNames() PodAdmitHandler { return AdmitRule(allocation.Names()) }

// AdmitPodCount returns a handler that refuses a pod when max pods are active; 0 is DefaultMaxPods.
func AdmitPodCount(max int) PodAdmitHandler { return AdmitRule(allocation.PodCount(max)) }

// AdmitHostPorts returns a handler that refuses a pod whose host port another pod uses. A static pod waits for
// the port instead.
func AdmitHostPorts() PodAdmitHandler { return AdmitRule(allocation.HostPorts()) }

// AdmitResources returns a handler that refuses a pod that requests more of a resource than is left.
// allocatable is the sum that all pods may request; "pods" in it is the maximum number of pods. A resource
// that is not in it is not checked.
func AdmitResources(allocatable v1.ResourceList) PodAdmitHandler {
	return AdmitRule(allocation.Resources(allocatable))
}

// AdmitResourcesFrom is AdmitResources for a node whose allocatable resources change. It calls allocatable for
// each question, on the loop and in Fits. After a change the host program calls Handlers.Recheck.
func AdmitResourcesFrom(allocatable func() v1.ResourceList) PodAdmitHandler {
	rule := allocation.ResourcesFrom(allocatable)
	return ruleHandler{rule: rule, chain: allocation.NewChain(rule), callsHost: true}
}

// containedRule is a rule of the host program whose panics are contained. A panic counts as a refusal of the
// pod.
type containedRule struct {
	allocation.Rule
	runContained  func(call string, f func()) error
	builtInClaims bool
}

// UsesBuiltInClaims reports whether the rule is built in, so that the table computes its claims once for all
// built-in rules.
func (r containedRule) UsesBuiltInClaims() bool { return r.builtInClaims }

// Claims implements allocation.Rule.
func (r containedRule) Claims(pod *v1.Pod) (claims allocation.Claims) {
	if r.runContained("Rule.Claims", func() { claims = r.Rule.Claims(pod) }) != nil {
		return allocation.Claims{Fault: true}
	}
	return claims
}

// Check implements allocation.Rule.
func (r containedRule) Check(claims allocation.Claims, staying, terminating allocation.Sums) (reasons []allocation.Reason) {
	if claims.Fault ||
		r.runContained("Rule.Check", func() { reasons = r.Rule.Check(claims, staying, terminating) }) != nil {
		return []allocation.Reason{{Kind: allocation.KindFault, Reason: rejectedByPanic.Reason, Message: rejectedByPanic.Message}}
	}
	return reasons
}

// admitChain is the admission chain of Handlers. The table of allocations checks its rules, and askHandler
// calls its other handlers.
type admitChain struct {
	handlers []PodAdmitHandler
	rules    *allocation.Chain
	guard    *contain.Guard
}

// newAdmitChain returns the chain of the given admission handlers. The allocation table runs the rules among
// them itself; rules of the host program are wrapped so that their panics are contained. For each other handler
// the table asks the loop, which calls the handler.
func newAdmitChain(handlers []PodAdmitHandler, guard *contain.Guard) *admitChain {
	rules := make([]allocation.Rule, len(handlers))
	for i, handler := range handlers {
		r, is := handler.(ruleHandler)
		switch {
		case !is:
		case r.chain.HasOnlyBuiltInRules() && !r.callsHost:
			rules[i] = r.rule
		default:
			rules[i] = containedRule{r.rule, guard.Call, r.callsHost}
		}
	}
	return &admitChain{handlers, allocation.NewChain(rules...), guard}
}

// askHandler calls one admission handler of the chain and returns its result. It returns an error if the
// handler panics. beside has the other pods of the node; trial tells the handler that the pod does not start
// whatever it answers.
func (c *admitChain) askHandler(index int, pod *v1.Pod, beside allocation.Snapshot, trial bool) (result PodAdmitResult, err error) {
	handler := c.handlers[index]
	attrs := PodAdmitAttributes{Pod: pod, Trial: trial, snapshot: &beside}
	if needsOtherPods(handler) {
		attrs.OtherPods = beside.Pods()
	}
	err = c.guard.Call("PodAdmitHandler.Admit", func() { result = handler.Admit(attrs) })
	return result, err
}

// firstRefusalAndAllReasons asks the name check and all rules and handlers about a pod, as a trial that starts
// nothing. It returns the answer of the first one that refuses the pod, and the reasons of all that refuse it.
// A panic counts as a refusal.
func (c *admitChain) firstRefusalAndAllReasons(pod *allocation.Pod, beside allocation.Snapshot) (allocation.Answer, []allocation.Reason) {
	answer, all := allocation.Answer{Admit: true}, []allocation.Reason(nil)
	add := func(refusal PodAdmitResult) {
		if refusal.Admit {
			return
		}
		if answer.Admit {
			answer = toTableAnswer(refusal)
		}
		all = append(all, refusal.allReasons()...)
	}
	add(Refused(beside.NameConflicts(pod)...))
	for i, handler := range c.handlers {
		if _, rule := handler.(ruleHandler); rule {
			refusal := Refused(c.rules.Check(i, pod, beside)...)
			if !refusal.Admit && refusal.Reasons[0].Kind == allocation.KindFault {
				refusal = rejectedByPanic
			}
			add(refusal)
			continue
		}
		refusal, err := c.askHandler(i, pod.Pod, beside, true)
		if err != nil {
			refusal = rejectedByPanic
		}
		add(refusal)
	}
	return answer, all
}
