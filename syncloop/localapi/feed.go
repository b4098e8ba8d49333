package localapi

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/node"
)

const (
	// tick is how often the node is described, and old events are dropped.
	tick = 10 * time.Second
	// startPeriod is how often it is asked whether all sources of pods have been heard.
	startPeriod = 50 * time.Millisecond
	// endPeriod is how often deleted pods are looked for that the node does not know.
	endPeriod = time.Second
)

// Run follows the node until ctx ends, and returns nil then. Before it has heard of all pods, and
// after it has ended, requests are answered with 503; watches end with it. A second call returns runtime.ErrSecondRun.
func (a *API) Run(ctx context.Context) error {
	if a.ran.Swap(true) {
		return fmt.Errorf("localapi: %w", runtime.ErrSecondRun)
	}
	defer close(a.ended)
	var under sync.WaitGroup
	defer under.Wait()
	if e := a.config.Events; e != nil {
		under.Go(func() { _ = e.Recorder.Run(ctx) }) // It fails at a second call only.
	}
	under.Go(func() { a.describe(ctx) })
	for state := range a.config.Node.Watch(ctx) {
		a.show(state)
	}
	return nil
}

// describe keeps the node's object, and says when the list of pods is complete.
func (a *API) describe(ctx context.Context) {
	period := time.NewTicker(startPeriod)
	defer period.Stop()
	a.describeNode(ctx)
	a.putNamespace(metav1.NamespaceDefault)
	a.putNamespace(v1.NamespaceNodeLease)
	for {
		if !a.isComplete() && a.shown() {
			a.describeNode(ctx)
			a.renewLease()
			if period.Reset(tick); a.sweep() {
				period.Reset(endPeriod)
			}
			close(a.complete)
		}
		select {
		case <-period.C:
		case <-a.deleted:
			period.Reset(endPeriod)
		case <-ctx.Done():
			return
		}
		if a.isComplete() {
			a.describeNode(ctx)
			a.renewLease()
			a.desired.tidy(a.now(), a.known)
			a.config.Events.tidy()
			if !a.sweep() {
				period.Reset(tick)
			}
		}
	}
}

// known reports whether the node knows a pod.
func (a *API) known(uid types.UID) bool {
	_, known := a.config.Node.Pod(uid)
	return known
}

// shown reports whether the node has heard all of its sources, and Watch has yielded every
// pod that is desired. One that a former agent has left behind may stay for long.
func (a *API) shown() bool {
	if a.config.Node.Waiting() != nil {
		return false
	}
	for _, pod := range a.config.Node.Pods() {
		if pod.DeletionTimestamp == nil && pod.Status.Reason != syncloop.ReasonNotDesired && !a.desired.yielded(pod.UID, a.served["pods"]) {
			return false
		}
	}
	return true
}

// sweep drops deleted pods that have ended, and those that the node does not know: they are
// gone before it has shown them. It reports whether others are still to end.
func (a *API) sweep() (more bool) {
	for _, pod := range a.desired.ending() {
		now, known := a.config.Node.Pod(pod.UID)
		switch {
		case len(pod.Finalizers) > 0: // The one who removes the last one says so.
		case known && !podstatus.IsTerminal(now.Status.Phase):
			more = true
		default:
			if known {
				a.put(kinded(now.DeepCopy(), "Pod"))
			}
			a.forgetEnded(pod)
		}
	}
	return more
}

// show keeps what the node says of a pod. One that goes is shown before with its last status: a
// watcher is told no other of how it has ended.
func (a *API) show(state node.PodState) {
	pods := a.served["pods"]
	own, forgotten := a.desired.get(state.Pod.UID)
	if forgotten && !state.Gone && podmanager.IsStaticPod(state.Pod) {
		a.desired.reuse(state.Pod.UID)
		forgotten = false
	}
	ended := state.Gone || !state.Terminating && podstatus.IsTerminal(state.Pod.Status.Phase)
	deleted := own != nil && own.DeletionTimestamp != nil && len(own.Finalizers) == 0 && ended
	gone := own == nil && (state.Gone || state.Pod.DeletionTimestamp != nil && ended) // A node may know it for long.
	switch {
	case forgotten:
		return // It is gone, also if the node shows its end once more.
	case own != nil && state.Gone && !deleted:
		return // The node ends, and not the pod.
	case !gone || pods.has(state.Pod.UID):
		a.put(a.shownAs(state))
	}
	switch {
	case deleted:
		a.forgetEnded(own)
	case gone:
		a.hide(state.Pod)
	}
}

// shownAs is a pod as a server shows it.
func (a *API) shownAs(state node.PodState) *v1.Pod {
	pod := kinded(state.Pod.DeepCopy(), "Pod")
	if before := a.shownPod(pod); before != nil {
		pod.CreationTimestamp = before.CreationTimestamp
	}
	if pod.CreationTimestamp.IsZero() {
		pod.CreationTimestamp = created(pod, a.now())
	}
	if podmanager.IsStaticPod(pod) { // Such as kubectl drain leaves mirror pods alone.
		pod.Annotations[podmanager.ConfigMirrorAnnotation] = pod.Annotations[podmanager.ConfigHashAnnotation]
	}
	if state.Terminating && pod.DeletionTimestamp == nil {
		a.markDeleted(pod)
	}
	return pod
}

// created is when a pod without a creation time was started, or now.
func created(pod *v1.Pod, now time.Time) metav1.Time {
	if pod.Status.StartTime != nil {
		return *pod.Status.StartTime
	}
	return metav1.NewTime(now.Truncate(time.Second))
}

// markDeleted gives a pod that the node terminates its deletion timestamp, if it is one that
// is desired no more.
func (a *API) markDeleted(pod *v1.Pod) {
	if shown, ok := a.config.Node.Pod(pod.UID); ok {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = shown.DeletionTimestamp, shown.DeletionGracePeriodSeconds
	}
}

// putNamespace has a namespace exist: it is there as long as a pod is in it.
func (a *API) putNamespace(name string) {
	if a.served["namespaces"].get("", name) != nil {
		return
	}
	ns := kinded(&v1.Namespace{}, "Namespace")
	ns.Name, ns.UID, ns.CreationTimestamp = name, types.UID(name), metav1.NewTime(a.started)
	ns.Labels = map[string]string{v1.LabelMetadataName: name}
	ns.Status.Phase = v1.NamespaceActive
	a.served["namespaces"].put(ns)
}

// dropNamespaceLocked removes a namespace without pods, but not those that a cluster always has.
func (a *API) dropNamespaceLocked(name string) {
	pods, _ := a.served["pods"].list()
	for _, o := range pods {
		if o.GetNamespace() == name {
			return
		}
	}
	if name != metav1.NamespaceDefault && name != v1.NamespaceNodeLease {
		a.served["namespaces"].remove(types.UID(name))
	}
}

// newUID makes a random UUID of version 4.
func newUID() types.UID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // It never fails.
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}
