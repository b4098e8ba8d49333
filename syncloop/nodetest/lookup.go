package nodetest

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// fullName is a pod's name with its namespace, which is default unless given.
func fullName(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "default/" + name
}

// Pod is a copy of the pod of a name, or of a namespace/name, with its newest
// status; nil if the node has none, or if no node runs.
func (b *Simulation) Pod(name string) *v1.Pod {
	if b.node == nil {
		return nil
	}
	for _, pod := range b.node.Pods() {
		if pod.Namespace+"/"+pod.Name == fullName(name) {
			return pod
		}
	}
	return nil
}

// Status is how the pod of a name, or of a namespace/name, looked last, as the
// transcript has it behind the "|": "1/1 Running restarts=0", or "gone". It is
// empty if the pod has not been seen. Changes of one instant are one line, which is
// written when all that is due then has run: call RunUntilIdle first where RunUntil or a call
// of the node has returned in the middle of an instant. It may be asked after Stop. A pod that was
// deleted while no node ran is "gone" when the next one has cleaned up after it, though the
// transcript says nothing of that.
func (b *Simulation) Status(name string) string {
	last := b.trace.lastStatusText(fullName(name))
	if last != "" && b.isRemoved(name) {
		return "gone"
	}
	return last
}

// isRemoved reports whether a node that has heard all of its sources knows nothing of a pod, and
// the runtime has nothing of it.
func (b *Simulation) isRemoved(name string) bool {
	return b.node != nil && b.node.Health().Waiting == nil && b.Pod(name) == nil &&
		!slices.ContainsFunc(b.node.Containers().RuntimePods(), func(p runtime.Pod) bool { return p.Namespace+"/"+p.Name == fullName(name) })
}

// AssertStatus reports whether Status of a pod is as wanted, and fails the test if it is not. The
// test goes on.
func (b *Simulation) AssertStatus(name, want string) bool {
	b.t.Helper()
	if got := b.Status(name); got != want {
		if got == "" {
			b.t.Errorf("nodetest: at %s: there is no pod %s that could be %q: %s", b.Now().Sub(Epoch), fullName(name), want, b.trace.describePods())
			return false
		}
		b.t.Errorf("nodetest: at %s: pod %s is %q, not %q", b.Now().Sub(Epoch), fullName(name), got, want)
		return false
	}
	return true
}

// describePods names the pods that the node has, or says that no node runs.
func (b *Simulation) describePods() string {
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

// AssertPhase reports whether the node has a pod of this name, or of this namespace/name, in this
// phase, and fails the test if it has not. The test goes on.
func (b *Simulation) AssertPhase(name string, want v1.PodPhase) bool {
	b.t.Helper()
	pod := b.Pod(name)
	switch {
	case pod == nil:
		b.t.Errorf("nodetest: at %s: there is no pod %s: %s", b.Now().Sub(Epoch), fullName(name), b.describePods())
	case pod.Status.Phase != want:
		b.t.Errorf("nodetest: at %s: pod %s is %s (%s), not %s", b.Now().Sub(Epoch), fullName(name), pod.Status.Phase, b.Status(name), want)
	default:
		return true
	}
	return false
}
