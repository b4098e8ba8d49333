package node

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/node/explain"
)

// podsView combines the desired and terminating pods of a node with their statuses.
type podsView struct {
	executor executor.Executor
	manager  *podmanager.Store
	workers  *podworkers.Workers
	status   *status.Store
	handlers *syncloop.Handlers
	pleg     *pleg.PLEG
	history  *historyStore
	mu       struct {
		sync.Mutex
		watchers []*watcher // replaced, never changed in place
	}
}

// Pod returns a copy of the pod with this UID and its newest status, as Pods shows it. It returns an
// undesired pod until its containers have stopped. The cost does not depend on the number of pods.
func (n *Node) Pod(uid types.UID) (*v1.Pod, bool) {
	if pod, ok := n.manager.GetPodByUID(uid); ok {
		return n.view.podWithStatus(pod), true
	}
	e, terminating := n.handlers.TerminatingPod(uid)
	if terminating && e.RuntimeOnly {
		return n.view.orphanedPod(e), true
	}
	if pod := n.journal.history.lastPod(uid); pod != nil {
		return n.view.terminatingPodWithStatus(pod, e.Until)
	}
	return nil, false
}

// PodByName returns the pod of this name, as Pod does. If several pods have the name, it returns the
// first in explain.Order. The cost does not depend on the number of pods if one pod of the name is
// desired.
func (n *Node) PodByName(namespace, name string) (*v1.Pod, bool) {
	if desired := n.manager.GetPodsOfName(namespace, name); len(desired) == 1 {
		return n.view.podWithStatus(desired[0]), true
	}
	for _, uid := range n.view.findUIDsByName(namespace, name) {
		if pod, ok := n.Pod(uid); ok {
			return pod, true
		}
	}
	return nil, false
}

// List returns the selected pods with their newest statuses, ordered by namespace and name, and their
// common version. WatchFrom yields the changes after that version. The pods are shared and must not be
// modified. The error is ErrFieldSelector.
//
// List and WatchFrom show pods as an API server does. The resource version of a pod is the version of
// its last change on this node. Only one pod of a name is shown at a time: a second pod of the name
// appears when the first is gone. A deleted pod has a deletion timestamp and is shown until it is gone.
// Pods that an earlier agent left and that no source has delivered are not shown.
func (n *Node) List(options ListOptions) (pods []*v1.Pod, version uint64, err error) {
	match, err := options.newMatcher()
	if err != nil {
		return nil, 0, err
	}
	pods, version = n.feed.listPods(n.view, options, match)
	return pods, version, nil
}

// findUIDsByName returns the UIDs of all pods of a name: desired pods, pods in the history, and pods in the
// runtime. They are in the order of explain.Order, which puts desired pods first.
func (v *podsView) findUIDsByName(namespace, name string) []types.UID {
	var uids []types.UID
	for _, pod := range v.manager.GetPodsOfName(namespace, name) {
		uids = append(uids, pod.UID)
	}
	uids = append(uids, v.history.uidsByNameNewestFirst(namespace, name)...)
	for _, pod := range v.pleg.Pods() {
		if pod.Namespace == namespace && pod.Name == name {
			uids = append(uids, pod.UID)
		}
	}
	namesakes := make([]explain.Namesake, len(uids))
	for i, uid := range uids {
		_, desired := v.manager.GetPodByUID(uid)
		namesakes[i] = explain.Namesake{UID: uid, Desired: desired, Admitted: v.workers.View(uid).Known}
	}
	return explain.Order(namesakes)
}
