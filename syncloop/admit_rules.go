package syncloop

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// DefaultMaxPods is how many pods a node takes, as for the kubelet.
const DefaultMaxPods = allocation.DefaultMaxPods

// ruleHandler is an admission rule that decides by sums. In a chain of Handlers the table of
// allocations checks it; by itself it adds up OtherPods.
type ruleHandler struct {
	rule  allocation.Rule
	chain *allocation.Chain // of the rule alone
}

// AdmitRule makes a handler of a rule that decides by sums: what a pod claims is added up while pods
// come and go, so that a question takes the same time for any number of pods. A panic of the rule
// counts as that of a handler. A handler that wraps it must not be a PodAdmitAloneFunc.
func AdmitRule(rule allocation.Rule) PodAdmitHandler {
	return ruleHandler{rule, allocation.NewChain(rule)}
}

// Admit implements PodAdmitHandler.
func (r ruleHandler) Admit(attrs PodAdmitAttributes) PodAdmitResult {
	pod := podWithClaims(r.chain, attrs.Pod)
	if attrs.snapshot == nil || !r.chain.HasOnlyBuiltInRules() {
		return Refused(r.chain.Check(0, &pod, snapshotWith(r.chain, attrs.OtherPods))...)
	}
	reasons := r.chain.Check(0, &pod, *attrs.snapshot)
	result := Refused(reasons...)
	result.short = r.chain.Shortage(0, reasons)
	return result
}

// podWithClaims is a pod with what it claims by its spec.
func podWithClaims(chain *allocation.Chain, pod *v1.Pod) allocation.Pod {
	return chain.Pod(pod, pod.Annotations[podmanager.ConfigSourceAnnotation], podmanager.IsStaticPod(pod))
}

// snapshotWith adds up pods.
func snapshotWith(chain *allocation.Chain, pods []*v1.Pod) allocation.Snapshot {
	all := make([]allocation.Pod, len(pods))
	for i, pod := range pods {
		if pod == nil {
			pod = &v1.Pod{} // It counts all the same.
		}
		all[i] = podWithClaims(chain, pod)
	}
	return chain.NewSnapshot(all...)
}

// AdmitNames refuses a static pod that has the full name of an active pod that is not static, and the
// other way round. The first to arrive runs; a static pod waits for the name instead of being refused.
// Two static pods of one name take turns, which is the workers' business, and of two others the source
// delivers only one.
func AdmitNames() PodAdmitHandler { return AdmitRule(allocation.Names()) }

// AdmitPodCount refuses a pod when max pods are active already; 0 is DefaultMaxPods.
func AdmitPodCount(max int) PodAdmitHandler { return AdmitRule(allocation.PodCount(max)) }

// AdmitHostPorts refuses a pod that wants a host port which another pod holds. A static pod waits for
// the port instead.
func AdmitHostPorts() PodAdmitHandler { return AdmitRule(allocation.HostPorts()) }

// AdmitResources refuses a pod that asks for more of a resource than is left of it. Allocatable is what
// pods may have together, "pods" among it being how many there may be. A resource that is not in it is
// not checked.
func AdmitResources(allocatable v1.ResourceList) PodAdmitHandler {
	return AdmitRule(allocation.Resources(allocatable))
}

// containedRule is a rule of the host program. A panic in it is a fault of the pod.
type containedRule struct {
	allocation.Rule
	runContained func(call string, f func()) error
}

// panickedKey is the key of the claims of a rule that has panicked. A rule of the host program does not use it.
var panickedKey = allocation.Key{Kind: "podkeel.dev/panicked-rule"}

// Claims implements allocation.Rule.
func (r containedRule) Claims(pod *v1.Pod) (claims allocation.Claims) {
	if r.runContained("Rule.Claims", func() { claims = r.Rule.Claims(pod) }) != nil {
		return allocation.Claims{Keys: []allocation.Key{panickedKey}}
	}
	return claims
}

// Check implements allocation.Rule.
func (r containedRule) Check(claims allocation.Claims, staying, ending allocation.Sums) (reasons []allocation.Reason) {
	if len(claims.Keys) == 1 && claims.Keys[0] == panickedKey ||
		r.runContained("Rule.Check", func() { reasons = r.Rule.Check(claims, staying, ending) }) != nil {
		return []allocation.Reason{{Kind: allocation.KindFault, Reason: rejectedByPanic.Reason, Message: rejectedByPanic.Message}}
	}
	return reasons
}

// admitChain is the chain of Handlers: rules, which the table of allocations checks, and handlers.
type admitChain struct {
	handlers []PodAdmitHandler
	rules    *allocation.Chain
	guard    *contain.Guard
}

// newAdmitChain makes the chain: handlers that are no rule are asked by effects.
func newAdmitChain(handlers []PodAdmitHandler, guard *contain.Guard) *admitChain {
	rules := make([]allocation.Rule, len(handlers))
	for i, handler := range handlers {
		r, is := handler.(ruleHandler)
		switch {
		case !is:
		case r.chain.HasOnlyBuiltInRules():
			rules[i] = r.rule
		default:
			rules[i] = containedRule{r.rule, guard.Call}
		}
	}
	return &admitChain{handlers, allocation.NewChain(rules...), guard}
}

// askHandler puts a question to one handler of the chain. The error is its panic.
func (c *admitChain) askHandler(at int, pod *v1.Pod, beside allocation.Snapshot, trial bool) (result PodAdmitResult, err error) {
	handler := c.handlers[at]
	attrs := PodAdmitAttributes{Pod: pod, Trial: trial, snapshot: &beside}
	if needsOtherPods(handler) {
		attrs.OtherPods = beside.Pods()
	}
	err = c.guard.Call("PodAdmitHandler.Admit", func() { result = handler.Admit(attrs) })
	return result, err
}

// collectReasons is the first answer of the chain, and all reasons of all rules and handlers. One that
// panics has refused.
func (c *admitChain) collectReasons(pod *allocation.Pod, beside allocation.Snapshot) (allocation.Answer, []allocation.Reason) {
	answer, all := allocation.Answer{Admit: true}, []allocation.Reason(nil)
	add := func(refusal PodAdmitResult) {
		if refusal.Admit {
			return
		}
		if answer.Admit {
			answer = tableAnswer(refusal)
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
