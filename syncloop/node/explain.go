package node

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/node/explain"
)

// Explain returns why a pod is in its present state, what the pod waits for, and when its next sync is.
// It returns false for a pod that is neither desired nor in the runtime. It never blocks, and may be
// called before and after Run too.
func (n *Node) Explain(uid types.UID) (explain.Explanation, bool) {
	f := explain.Facts{Now: n.executor.Now(), Node: n.nodeFacts(), Worker: n.workerFacts(uid)}
	f.Pod, f.Desired = n.manager.GetPodByUID(uid)
	n.journal.history.copyHistoryToFacts(uid, &f)
	f.Runtime, _ = n.pleg.Get(uid)
	shown := f.Runtime != nil && len(f.Runtime.Sandboxes)+len(f.Runtime.Containers) > 0
	if !f.Desired && !f.Worker.Known && !shown {
		return explain.Explanation{}, false
	}
	if f.Pod == nil {
		f.Pod = &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}
		if f.Runtime != nil {
			f.Pod.Namespace, f.Pod.Name = f.Runtime.Namespace, f.Runtime.Name
		}
	}
	if d, ok := n.handlers.Deferred(uid); ok {
		f.Deferred, f.DeferredUntil = d.Message, d.Until
	}
	if e, ok := n.handlers.TerminatingPod(uid); ok && !f.Desired && !f.Worker.Known {
		f.OrphanUntil = e.KillAt
	}
	if fault, ok := n.sources.FaultOf(uid); ok {
		f.Fault = &explain.Fault{Path: fault.Path, Reason: fault.Reason, Effect: fault.Effect, Since: fault.Since}
	}
	if status, ok := n.status.GetPodStatus(uid); ok {
		f.Status = &status
	}
	return explain.Explain(f), true
}

// ExplainByName explains the pod of this name, as Explain does. If several pods have the name, it
// explains the first in explain.Order.
func (n *Node) ExplainByName(namespace, name string) (explain.Explanation, bool) {
	for _, uid := range n.view.findUIDsByName(namespace, name) {
		if e, ok := n.Explain(uid); ok {
			return e, true
		}
	}
	return explain.Explanation{}, false
}

// nodeFacts returns the facts that explain.Explain needs about the node itself: whether it runs or drains,
// which sources have not delivered all pods, the first fault of such a source, and a fault of the runtime.
func (n *Node) nodeFacts() explain.Node {
	s := explain.Node{Stopped: !n.running.Load() || n.done.Opened(), Draining: n.drainer.draining.Load()}
	for _, name := range n.sources.Names() {
		if !n.sources.Complete(name) {
			s.IncompleteSources = append(s.IncompleteSources, name)
		}
	}
	if len(s.IncompleteSources) > 0 {
		s.SourceFault = n.firstSourceFault(s.IncompleteSources)
	}
	if _, err := n.pleg.Healthy(); err != nil {
		s.RuntimeFault = err.Error()
	}
	return s
}

// firstSourceFault returns the first fault that one of the given sources reports. It returns "" if they report
// none.
func (n *Node) firstSourceFault(sources []string) string {
	for _, of := range n.sources.Faults() {
		if slices.Contains(sources, of.Source) && len(of.First) > 0 {
			return of.First[0].String()
		}
	}
	return ""
}

// workerFacts returns the facts that explain.Explain needs about the worker of a pod. The grace period is set
// only if termination was requested.
func (n *Node) workerFacts(uid types.UID) explain.Worker {
	view, outlook := n.workers.View(uid), n.workers.Outlook(uid)
	w := explain.Worker{
		Known: view.Known, Phase: view.Phase().String(), Incarnation: view.Incarnation,
		Deleted: view.Deleted, Evicted: view.Evicted,
		AwaitsName: view.AwaitsFullName, PreviousIncarnation: view.RestartRequested,
		Step: outlook.Step.String(), NextAt: outlook.NextAt,
	}
	if view.IsPodTerminationRequested() {
		w.Grace = view.Grace.ToAPI()
	}
	return w
}
