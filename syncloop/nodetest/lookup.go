package nodetest

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// withDefaultNamespace returns namespace/name. It adds the namespace "default" to a name without a namespace.
func withDefaultNamespace(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "default/" + name
}

// Pod returns a copy of the pod with this name or namespace/name and its newest status. It returns nil
// if the node has no such pod, or if no node runs.
func (b *Simulation) Pod(name string) *v1.Pod {
	if b.node == nil {
		return nil
	}
	for _, pod := range b.node.Pods() {
		if pod.Namespace+"/"+pod.Name == withDefaultNamespace(name) {
			return pod
		}
	}
	return nil
}

// Status returns the last status of the pod with this name or namespace/name, as the transcript has it
// after the "|": "1/1 Running restarts=0", or "gone". It is empty if the pod was never observed. It can
// be called after Stop.
//
// The status of an instant is written at the end of the instant. If RunUntil or a call of the node has
// returned in the middle of one, call RunUntilIdle first. A pod that was deleted while no node ran is
// "gone" when the next node has removed its remains, although the transcript does not show that.
func (b *Simulation) Status(name string) string {
	last := b.trace.lastStatusText(withDefaultNamespace(name))
	if last != "" && b.isGoneFromReadyNode(name) {
		return "gone"
	}
	return last
}

// isGoneFromReadyNode reports whether the node is ready and neither the node nor its runtime has the pod. It
// returns false while no node runs.
func (b *Simulation) isGoneFromReadyNode(name string) bool {
	return b.node != nil && b.node.Health().Waiting == nil && b.Pod(name) == nil &&
		!slices.ContainsFunc(b.node.Containers().RuntimePods(), func(p runtime.Pod) bool { return p.Namespace+"/"+p.Name == withDefaultNamespace(name) })
}

// AssertStatus fails the test, which continues, if Status of a pod is not as wanted. It reports whether
// it is.
func (b *Simulation) AssertStatus(name, want string) bool {
	b.t.Helper()
	if got := b.Status(name); got != want {
		if got == "" {
			b.t.Errorf("nodetest: at %s: there is no pod %s that could be %q: %s", b.Now().Sub(Epoch), withDefaultNamespace(name), want, b.trace.describePodNames())
			return false
		}
		b.t.Errorf("nodetest: at %s: pod %s is %q, not %q", b.Now().Sub(Epoch), withDefaultNamespace(name), got, want)
		return false
	}
	return true
}

// describePodNames returns one sentence with the names of all pods of the node, or one that no node runs.
func (b *Simulation) describePodNames() string {
	if b.node == nil {
		return "no node runs"
	}
	var names []string
	for _, pod := range b.node.Pods() {
		names = append(names, pod.Namespace+"/"+pod.Name)
	}
	if len(names) == 0 {
		return "the node has no pods"
	}
	slices.Sort(names)
	return "the pods are " + strings.Join(names, ", ")
}

// AssertPhase fails the test, which continues, if the node has no pod of this name or namespace/name in
// this phase. It reports whether it has one.
func (b *Simulation) AssertPhase(name string, want v1.PodPhase) bool {
	b.t.Helper()
	pod := b.Pod(name)
	switch {
	case pod == nil:
		b.t.Errorf("nodetest: at %s: there is no pod %s: %s", b.Now().Sub(Epoch), withDefaultNamespace(name), b.describePodNames())
	case pod.Status.Phase != want:
		b.t.Errorf("nodetest: at %s: pod %s is %s (%s), not %s", b.Now().Sub(Epoch), withDefaultNamespace(name), pod.Status.Phase, b.Status(name), want)
	default:
		return true
	}
	return false
}
