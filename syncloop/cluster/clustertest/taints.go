package clustertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/syncloop"
)

// Tainting decides whether Start updates the taints of its nodes when their conditions change.
type Tainting uint8

const (
	// TaintWithoutController taints the nodes if no controller manager holds its lease at the time of Start.
	TaintWithoutController Tainting = iota
	// TaintNever leaves the taints to a controller or to the test.
	TaintNever
)

// ownedTaints are the keys of the taints that the node lifecycle controller sets by the state of a node.
var ownedTaints = []string{
	v1.TaintNodeNotReady, v1.TaintNodeUnreachable, v1.TaintNodeUnschedulable,
	v1.TaintNodeMemoryPressure, v1.TaintNodeDiskPressure, v1.TaintNodePIDPressure, v1.TaintNodeNetworkUnavailable,
}

// desiredTaints returns the taints that the node should have. Taints of other owners are first. The taints that the node
// lifecycle controller would set follow. A taint that the node already has stays unchanged.
func desiredTaints(node *v1.Node, now metav1.Time) []v1.Taint {
	var owned []v1.Taint
	add := func(key string, effects ...v1.TaintEffect) {
		for _, effect := range effects {
			owned = append(owned, v1.Taint{Key: key, Effect: effect, TimeAdded: &now})
		}
	}
	if node.Spec.Unschedulable {
		add(v1.TaintNodeUnschedulable, v1.TaintEffectNoSchedule)
	}
	for _, c := range node.Status.Conditions {
		switch {
		case c.Type == v1.NodeReady && c.Status == v1.ConditionFalse:
			add(v1.TaintNodeNotReady, v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute)
		case c.Type == v1.NodeReady && c.Status == v1.ConditionUnknown:
			add(v1.TaintNodeUnreachable, v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute)
		case c.Type == v1.NodeMemoryPressure && c.Status == v1.ConditionTrue:
			add(v1.TaintNodeMemoryPressure, v1.TaintEffectNoSchedule)
		case c.Type == v1.NodeDiskPressure && c.Status == v1.ConditionTrue:
			add(v1.TaintNodeDiskPressure, v1.TaintEffectNoSchedule)
		case c.Type == v1.NodePIDPressure && c.Status == v1.ConditionTrue:
			add(v1.TaintNodePIDPressure, v1.TaintEffectNoSchedule)
		case c.Type == v1.NodeNetworkUnavailable && c.Status == v1.ConditionTrue:
			add(v1.TaintNodeNetworkUnavailable, v1.TaintEffectNoSchedule)
		}
	}
	isSame := func(a v1.Taint) func(v1.Taint) bool { return func(b v1.Taint) bool { return a.MatchTaint(&b) } }
	var taints []v1.Taint
	for _, taint := range node.Spec.Taints {
		if !slices.Contains(ownedTaints, taint.Key) || slices.ContainsFunc(owned, isSame(taint)) {
			taints = append(taints, taint)
		}
	}
	for _, taint := range owned {
		if !slices.ContainsFunc(taints, isSame(taint)) {
			taints = append(taints, taint)
		}
	}
	return taints
}

// updateTaints sets the desired taints of a node. It reads the node again after a conflict.
func (a *admin) updateTaints(ctx context.Context, name string) error {
	const maxConflicts = 5
	for conflicts := 0; ; conflicts++ {
		var node v1.Node
		if err := a.core.Get().Resource("nodes").Name(name).Do(ctx).Into(&node); err != nil {
			return err
		}
		taints := desiredTaints(&node, metav1.Now())
		if slices.EqualFunc(taints, node.Spec.Taints, func(a, b v1.Taint) bool { return a.MatchTaint(&b) }) {
			return nil
		}
		patch := map[string]any{"metadata": map[string]any{"resourceVersion": node.ResourceVersion}, "spec": map[string]any{"taints": taints}}
		err := a.patchObject(ctx, a.core.Patch(types.MergePatchType).Resource("nodes").Name(name), patch)
		if err == nil || !apierrors.IsConflict(err) || conflicts == maxConflicts {
			return err
		}
	}
}

// tainter updates the taints of the nodes of a test when their conditions change, as the node lifecycle controller does.
type tainter struct {
	nodes    *Nodes
	executor executor.Executor
	wake     executor.Event

	mu struct {
		sync.Mutex
		changed map[string]bool // nodes that have changed since their last check
	}
}

// startTainter starts the tainter until the end of the test, unless a controller manager sets the taints. Config.Tainting
// decides. It returns after the first check of all nodes.
func (ns *Nodes) startTainter() {
	ns.t.Helper()
	if ns.config.Tainting == TaintWithoutController && ns.isLeaseHeld("kube-controller-manager") {
		ns.config.Tainting = TaintNever
	}
	if ns.config.Tainting == TaintNever {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), registrationTimeout)
	defer cancel()
	for _, n := range ns.all {
		if err := ns.admin.updateTaints(ctx, n.name); err != nil {
			ns.t.Fatalf("clustertest: cannot update the taints of node %s: %v", n.name, err)
		}
	}
	real := executor.Over(nil)
	t := &tainter{nodes: ns, executor: real, wake: real.NewEvent()}
	t.mu.changed = map[string]bool{}
	informer := ns.newInformer("nodes", &v1.Node{}, cache.ResourceEventHandlerFuncs{AddFunc: t.checkNode, UpdateFunc: func(_, o any) { t.checkNode(o) }})
	ns.runUntilTestEnds(informer.RunWithContext, t.runTainter)
}

// checkNode requests an update of the taints of a node if the node belongs to the test and its taints are not the desired
// ones.
func (t *tainter) checkNode(o any) {
	node := o.(*v1.Node)
	isOfTest := slices.ContainsFunc(t.nodes.all, func(n *Node) bool { return n.name == node.Name })
	if isOfTest && !slices.EqualFunc(desiredTaints(node, metav1.Time{}), node.Spec.Taints, func(a, b v1.Taint) bool { return a.MatchTaint(&b) }) {
		t.requestUpdate(node.Name)
	}
}

func (t *tainter) requestUpdate(name string) {
	t.mu.Lock()
	t.mu.changed[name] = true
	t.mu.Unlock()
	t.wake.Signal()
}

// takeChanged returns the changed nodes and removes them from the set.
func (t *tainter) takeChanged() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := t.mu.changed
	t.mu.changed = map[string]bool{}
	return changed
}

// runTainter updates taints until ctx is done. It retries after an error. It skips a node whose Node object does not
// exist: the node registers again.
func (t *tainter) runTainter(ctx context.Context) {
	for t.wake.Wait(ctx) == nil {
		failed := false
		for _, name := range slices.Sorted(maps.Keys(t.takeChanged())) {
			if err := t.nodes.admin.updateTaints(ctx, name); err != nil && !apierrors.IsNotFound(err) {
				t.requestUpdate(name)
				failed = true
			}
		}
		if failed && t.executor.Sleep(ctx, bindRetryPeriod) != nil {
			return
		}
	}
}

// evictPods evicts the pods of an unreachable node, as the taint eviction controller does after their tolerationSeconds.
// Each pod gets the condition DisruptionTarget and is then deleted.
func (a *admin) evictPods(ctx context.Context, name string) error {
	pods, err := a.listPods(ctx, name)
	if err != nil {
		return err
	}
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionTimestamp != nil || toleratesForever(pod) {
			continue
		}
		err := a.patchPodConditions(ctx, pod, v1.PodCondition{
			Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "DeletionByTaintManager", Message: "Taint manager: deleting due to NoExecute taint", LastTransitionTime: metav1.Now(),
		})
		if err == nil {
			err = a.core.Delete().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).Body(&metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}).Do(ctx).Error()
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("cannot evict pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

// toleratesForever reports whether a pod tolerates the unreachable taint without a limit of time.
func toleratesForever(pod *v1.Pod) bool {
	pod = pod.DeepCopy()
	pod.Spec.Tolerations = slices.DeleteFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool { return t.TolerationSeconds != nil })
	unreachable := v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}
	return len(syncloop.UntoleratedTaints(pod, []v1.Taint{unreachable}, unreachable.Effect)) == 0
}
