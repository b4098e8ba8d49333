package clustertest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/syncloop/cluster"
)

// bindRetryPeriod is the time until the binder retries pods that fit on no node, or whose binding has failed.
const bindRetryPeriod = time.Second

// binder binds pods to the nodes of a test.
type binder struct {
	nodes    *Nodes
	pods     cache.Store
	executor executor.Executor
	wake     executor.Event
	// bound has the node of each bound pod that the store does not show as bound yet. reported has the newest reasons of
	// each pod that fits on no node.
	bound, reported map[types.UID]string
}

func newBinder(ns *Nodes) *binder {
	real := executor.Over(nil)
	return &binder{nodes: ns, executor: real, wake: real.NewEvent(), bound: map[types.UID]string{}, reported: map[types.UID]string{}}
}

// startBinder starts the binder until the end of the test, unless a scheduler binds the pods. Config.Binding decides.
func (ns *Nodes) startBinder() {
	ns.t.Helper()
	if ns.config.Binding == BindWithoutScheduler && ns.isLeaseHeld("kube-scheduler") {
		ns.config.Binding = BindNever
	}
	if ns.config.Binding == BindNever {
		return
	}
	b := ns.binder
	informer := ns.newInformer("pods", &v1.Pod{}, cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { b.requestPass() }, UpdateFunc: func(any, any) { b.requestPass() }, DeleteFunc: func(any) { b.requestPass() },
	})
	b.pods = informer.GetStore()
	ns.runUntilTestEnds(informer.RunWithContext, b.runBinder)
}

// requestPass makes the binder check all pods again.
func (b *binder) requestPass() { b.wake.Signal() }

// runBinder binds pods until ctx is done.
func (b *binder) runBinder(ctx context.Context) {
	for ctx.Err() == nil {
		if b.bindPods(ctx) {
			_ = b.wake.Wait(ctx) // The loop ends with ctx.
			continue
		}
		_, _ = b.wake.WaitUntil(ctx, b.executor.Now().Add(bindRetryPeriod)) // The loop ends with ctx.
	}
}

// bindPods binds each pod that needs a node, the oldest first. It returns false if a pod is left without a node.
func (b *binder) bindPods(ctx context.Context) (complete bool) {
	pods := b.listPods()
	complete = true
	for _, pod := range pods {
		if needsNode(pod) && b.bound[pod.UID] == "" && !b.bindPod(ctx, pod, pods) {
			complete = false
		}
	}
	return complete
}

// listPods returns the known pods, the oldest first. It forgets bindings that the store shows.
func (b *binder) listPods() []*v1.Pod {
	var pods []*v1.Pod
	known := map[types.UID]bool{}
	for _, o := range b.pods.List() {
		pod := o.(*v1.Pod)
		known[pod.UID] = true
		pods = append(pods, pod)
		if pod.Spec.NodeName != "" {
			delete(b.bound, pod.UID)
		}
	}
	for _, m := range []map[types.UID]string{b.bound, b.reported} {
		maps.DeleteFunc(m, func(uid types.UID, _ string) bool { return !known[uid] })
	}
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name))
	})
	return pods
}

// needsNode reports whether the default scheduler would bind the pod.
func needsNode(pod *v1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0 &&
		(pod.Spec.SchedulerName == "" || pod.Spec.SchedulerName == v1.DefaultSchedulerName)
}

// candidate is a running node with its pods.
type candidate struct {
	name string
	node *cluster.Node
	pods int
	busy bool // a pod was bound to it that the node does not count yet
}

// runningNodesByPodCount returns the running nodes, ordered by their number of pods that have not terminated. The node with
// the fewest pods is first.
func (b *binder) runningNodesByPodCount(pods []*v1.Pod) []candidate {
	var all []candidate
	for _, n := range b.nodes.all {
		joined := n.Cluster()
		if joined == nil {
			continue
		}
		c := candidate{name: n.name, node: joined}
		for _, pod := range pods {
			if cmp.Or(pod.Spec.NodeName, b.bound[pod.UID]) == n.name && pod.Status.Phase != v1.PodFailed && pod.Status.Phase != v1.PodSucceeded {
				c.pods++
				c.busy = c.busy || pod.Status.StartTime == nil
			}
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return a.pods - b.pods })
	return all
}

// bindPod binds a pod to the first candidate on which it fits. If it fits on none, the pod gets the condition
// PodScheduled with the reasons. It returns false if the pod is left without a node.
func (b *binder) bindPod(ctx context.Context, pod *v1.Pod, pods []*v1.Pod) bool {
	all := b.runningNodesByPodCount(pods)
	var reasons []string
	for _, c := range all {
		if c.busy && requestsResources(pod) {
			return false // Its free resources are not known yet.
		}
		if err := c.node.Node().Scheduling().Fits(toleratingOldTaints(pod, c.node.Object())); err != nil {
			reasons = append(reasons, err.Error())
			continue
		}
		err := b.nodes.admin.bindPod(ctx, pod, c.name)
		if err == nil {
			b.bound[pod.UID] = c.name
		}
		return err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) // The pod was deleted, or is bound.
	}
	message := fmt.Sprintf("0/%d nodes are available: %s", len(all), strings.Join(reasons, ", "))
	if b.reported[pod.UID] == message {
		return false
	}
	err := b.nodes.admin.patchPodConditions(ctx, pod, v1.PodCondition{
		Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: message, LastTransitionTime: metav1.Now(),
	})
	if err == nil { // After an error the next pass tries again.
		b.reported[pod.UID] = message
	}
	return false
}

// requestsResources reports whether a container of the pod has a request or a limit.
func requestsResources(pod *v1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c v1.Container) bool {
		return len(c.Resources.Requests)+len(c.Resources.Limits) > 0
	})
}

// toleratingOldTaints returns a copy of a pod. If the node is ready, the copy tolerates the not-ready and unreachable
// taints, because they are older than the condition Ready. A controller removes them a moment later. Without a
// controller they stay.
func toleratingOldTaints(pod *v1.Pod, node *v1.Node) *v1.Pod {
	pod = pod.DeepCopy()
	if !isReady(node) {
		return pod
	}
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists})
	}
	return pod
}
