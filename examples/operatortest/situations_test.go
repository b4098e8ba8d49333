package operatortest_test

import (
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podkeel/podkeel/examples/operatortest"
	"github.com/podkeel/podkeel/podmanager/podtest"
)

type status = operatortest.SiteStatus

// situations are the tests, by name. Each creates a Site, lets something happen to its pods, and awaits what the operator
// reports or does.
var situations = map[string]func(e *env){
	"CrashLoop": func(e *env) {
		e.createSite(1, podtest.Pod("p").Container("c", podtest.Exits(1), podtest.Then(podtest.Exits(1)), podtest.Then(podtest.RunsForever())))
		e.awaitStatus("the crash loop", func(s status) bool { return s.Problem == "CrashLoopBackOff" && s.Starting == 1 })
		e.awaitStatus("the recovery", func(s status) bool { return s == status{Ready: 1} })
	},

	"SlowReadiness": func(e *env) {
		e.createSite(1, podtest.Pod("p").Container("c").Probe(podtest.Readiness, podtest.FailsFor(3*time.Second)))
		e.awaitPods("a running pod that is not ready", 1, func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodRunning && !isReady(pod) })
		e.awaitStatus("no ready pod", func(s status) bool { return s == status{Starting: 1} })
		e.awaitStatus("a ready pod", func(s status) bool { return s == status{Ready: 1} })
	},

	"OOM": func(e *env) {
		e.createSite(1, podtest.Pod("p").Container("c", podtest.Limits("memory=64Mi"), podtest.UsesMemory(time.Second, "65Mi")))
		e.awaitStatus("the reason", func(s status) bool { return s.Problem == "OOMKilled" })
	},

	"Drain": func(e *env) {
		e.createSite(2, podtest.Pod("p").GracePeriod(time.Second).Container("c"))
		e.awaitStatus("two ready pods", func(s status) bool { return s == status{Ready: 2} })
		e.cordon("node-0")
		for _, pod := range e.pods(func(pod *v1.Pod) bool { return pod.Spec.NodeName == "node-0" }) {
			e.check(e.SubResource("eviction").Create(e.Context(), pod, &policyv1.Eviction{}))
		}
		e.awaitPods("two ready pods on the other node", 2, func(pod *v1.Pod) bool { return pod.Spec.NodeName == "node-1" && isReady(pod) })
		e.awaitStatus("two ready pods", func(s status) bool { return s == status{Ready: 2} })
	},

	"NodeLost": func(e *env) {
		e.createSite(2, podtest.Pod("p").Container("c"))
		e.awaitStatus("two ready pods", func(s status) bool { return s == status{Ready: 2} })
		e.lose("node-0")
		e.awaitStatus("one ready pod", func(s status) bool { return s.Ready == 1 })
		e.evictFrom("node-0") // As the control plane does after 300 s.
		e.awaitStatus("a replacement", func(s status) bool { return s == status{Ready: 2, Terminating: 1} })
	},

	"ImageError": func(e *env) {
		e.createSite(1, podtest.Pod("p").Container("c", podtest.FailsToPull(), podtest.Then(podtest.RunsForever())))
		e.awaitStatus("the problem", func(s status) bool { return s.Problem == "ErrImagePull" || s.Problem == "ImagePullBackOff" })
		e.awaitStatus("the recovery", func(s status) bool { return s == status{Ready: 1} })
	},

	"InitFailure": func(e *env) {
		e.createSite(1, podtest.Pod("p").RestartPolicy(v1.RestartPolicyNever).InitContainer("i", podtest.Runs(time.Second), podtest.Exits(3)).Container("c"))
		e.awaitStatus("a replacement", func(s status) bool { return s.Replaced >= 1 })
		e.awaitPods("a pod that initializes", 1, func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodPending })
	},

	"Eviction": func(e *env) {
		e.createSite(1, podtest.Pod("p").GracePeriod(time.Second).Container("c"))
		e.awaitStatus("a ready pod", func(s status) bool { return s == status{Ready: 1} })
		evicted := e.pods(isReady)[0]
		e.evictForPressure(evicted)
		e.awaitStatus("a replacement", func(s status) bool { return s == status{Ready: 1, Replaced: 1} })
		e.awaitPods("another pod", 1, func(pod *v1.Pod) bool { return isReady(pod) && pod.UID != evicted.UID })
	},

	"SlowTermination": func(e *env) {
		e.createSite(1, podtest.Pod("p").GracePeriod(4*time.Second).Container("c", podtest.IgnoresTERM()))
		e.awaitStatus("a ready pod", func(s status) bool { return s == status{Ready: 1} })
		e.check(e.Delete(e.Context(), e.pods(isReady)[0], client.GracePeriodSeconds(4)))
		began := e.now()
		e.awaitStatus("both pods", func(s status) bool { return s == status{Ready: 1, Terminating: 1} })
		e.awaitStatus("the end of the old pod", func(s status) bool { return s == status{Ready: 1} })
		e.atLeast(3*time.Second, e.now().Sub(began))
	},
}
