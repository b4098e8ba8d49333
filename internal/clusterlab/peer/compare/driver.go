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
	// newWorkers returns running pod workers that call a syncer. Each status that they need is there at once.
	newWorkers(s syncer) podWorkers
	// newNode returns pod workers that read the statuses of a PLEG, which relists a runtime once a second.
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
	// newSender returns statuses that are sent to the API server at a URL, which has the pods already.
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
	// update delivers an update of a pod. It does not wait for the pod.
	update(pod *v1.Pod, kind updateKind)
	// forget removes the records of finished pods, as if no pod were desired. It returns the number of pods that have
	// a record still.
	forget() int
	// stop releases the workers. All pods were forgotten.
	stop()
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
	// prepare builds the listing that the next relist reads, so that its cost is not measured.
	prepare()
	// relist lists all pods and inspects changed ones. It returns the number of pods with an event.
	relist() int
}

// merge turns the pods of a source into changes.
type merge interface {
	// set delivers all pods of the source, as a list does.
	set(pods []*v1.Pod) []change
	// add delivers one more pod, as a watch does.
	add(pod *v1.Pod) []change
}

// change is the kind of a change and the number of its pods.
type change struct {
	op   string
	pods int
}

// files are the changes of a directory of manifests.
type files interface {
	// next waits for added pods and returns all changes until then.
	next() []change
}

// statuses store the status of each pod, and may send it.
type statuses interface {
	set(pod *v1.Pod, status v1.PodStatus)
	stop()
}
