//go:build peer

package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// driver makes the parts of one implementation. Each part starts with no pods.
type driver interface {
	// name returns the name of the implementation.
	name() string
	// newWorkers returns running pod workers that call a syncer. They never wait for a status.
	newWorkers(s syncer) podWorkers
	// newNode returns pod workers that read the statuses of a PLEG. The PLEG relists a runtime once a second.
	newNode(s syncer, r *fakeRuntime) podWorkers
	// newQueue returns an empty work queue.
	newQueue() workQueue
	// newPLEG returns a PLEG of a runtime that relists only on request.
	newPLEG(r *fakeRuntime) relister
	// newMerge returns the merge of one source, the API server.
	newMerge() merge
	// newFiles returns the updates of a source of static pods that watches a directory.
	newFiles(dir string) files
	// newStatuses returns statuses that are sent to no server.
	newStatuses() statuses
	// newSender returns statuses that are sent to the API server at a URL. The server must have the pods.
	newSender(url string, pods []*v1.Pod) statuses
}

// syncer receives the calls of pod workers. Workers call it for one pod sequentially, and for different pods
// concurrently.
type syncer struct {
	syncPod, terminating, terminated func(uid types.UID)
}

// updateKind is the reason of an update of a pod.
type updateKind int

const (
	createPod updateKind = iota
	updatePod
	killPod
)

// podWorkers are the pod workers of a node.
type podWorkers interface {
	// sendUpdate delivers an update of a pod. It does not wait for the pod.
	sendUpdate(pod *v1.Pod, kind updateKind)
	// forgetFinished removes the records of finished pods, as if no pod were desired. It returns the number of pods that
	// still have a record.
	forgetFinished() int
	// stopWorkers stops the workers. The caller must have removed all records.
	stopWorkers()
}

// workQueue stores when pods are synced again.
type workQueue interface {
	// enqueue makes a pod due in an hour, or at once.
	enqueue(uid types.UID, now bool)
	// takeDue removes and returns the pods that are due.
	takeDue() []types.UID
}

// relister finds the pods that have changed in a runtime.
type relister interface {
	// prepareListing builds the listing for the next relist, so that the relist is measured without it.
	prepareListing()
	// relistPods lists all pods and inspects the changed pods. It returns the number of pods with an event.
	relistPods() int
}

// merge turns the pods of a source into changes.
type merge interface {
	// replacePods delivers the complete list of the source's pods, and returns the changes.
	replacePods(pods []*v1.Pod) []change
	// addPod delivers one more pod, as a watch does, and returns the changes.
	addPod(pod *v1.Pod) []change
}

// change is the kind of a change and the number of its pods.
type change struct {
	op   string
	pods int
}

// files are the changes of a directory of manifests.
type files interface {
	// awaitAddedPods waits until pods are added. It returns that change and all changes before it.
	awaitAddedPods() []change
}

// statuses store the status of each pod, and may send it.
type statuses interface {
	// setStatus stores the status of a pod.
	setStatus(pod *v1.Pod, status v1.PodStatus)
	// stopSending stops the sender, if there is a sender.
	stopSending()
}
