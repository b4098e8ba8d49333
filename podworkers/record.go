package podworkers

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// record is what the workers store about a pod beside the table's record: data that the table does
// not need for its decisions.
type record struct {
	content
	// next is the content of the next incarnation, which waits until this one has finished.
	next *content
	// observedMark is the number of the newest observation that had begun when the last call of the
	// syncer returned. Only an observation with a higher number is fresh.
	observedMark uint64
	// failedCallStatus is the status that the last call was given, if that call failed.
	// transientFailures counts the transient failures in a row.
	failedCallStatus  *runtime.PodStatus
	transientFailures int
	// running is the job that the worker does now, or nil.
	running *job
	// run is the function of the pod's worker. It is made once, so that starting the worker
	// allocates nothing.
	run func()
	// contentFrozen is set when later updates are about the next incarnation: the present
	// incarnation then keeps its content.
	contentFrozen bool
}

// content is what the caller wants for one incarnation of a pod.
type content struct {
	pod           *v1.Pod
	runningPod    *runtime.Pod
	mirrorPod     *v1.Pod   // of the newest update; nil if it had none
	lastMirrorPod *v1.Pod   // of the newest update that had one; used for resyncs
	updateTime    time.Time // StartTime of the oldest update that was not synced yet
	// statusFunc changes the final status. It is from the last update that had one.
	statusFunc PodStatusFunc
}

// applyUpdate stores the pods of an update. An update without a Pod keeps the stored Pod. An update without a
// MirrorPod clears the current mirror pod and keeps lastMirrorPod for resyncs. updateTime becomes the earliest
// start time of the updates that were not synced yet (B-052, B-079).
func (c *content) applyUpdate(o *UpdatePodOptions) {
	if o.Pod != nil {
		c.pod = o.Pod
	}
	c.runningPod = o.RunningPod
	c.mirrorPod = o.MirrorPod
	if o.MirrorPod != nil {
		c.lastMirrorPod = o.MirrorPod
	}
	if c.updateTime.IsZero() || !o.StartTime.IsZero() && o.StartTime.Before(c.updateTime) {
		c.updateTime = o.StartTime
	}
}

// storeUpdateContent stores the pods and the status func of an update that the lifecycle table has accepted.
// For a queued update it stores the pods for the pod that waits under the same UID. The present pod keeps its
// own objects if that pod replaces it, because it must stop its own containers. An update that is no resync
// also resets the count of transient failures.
func (r *record) storeUpdateContent(o *UpdatePodOptions, accepted lifecycle.Accepted) {
	switch accepted.Disposition {
	case lifecycle.Ignored:
		return
	case lifecycle.Queued:
		if r.next == nil {
			r.next = new(content)
		}
		r.next.applyUpdate(o)
		return
	}
	// An update that arrives while a successor waits and is not queued terminates both
	// incarnations. A create of a pod that is already deleted or terminal does the same. Both carry
	// the pod object of the successor. The present incarnation must stop its own containers, so it
	// keeps its own content, also for all later updates. If the runtime alone knows the present
	// incarnation, it has no content to keep.
	if r.pod != nil && (r.next != nil || isCreateOfTerminatingPod(o)) {
		r.contentFrozen = true
	}
	if !r.contentFrozen {
		r.applyUpdate(o)
	}
	if o.UpdateType != SyncPodSync {
		r.transientFailures = 0 // The new desired state may succeed at once.
	}
	if o.KillPodOptions != nil && o.KillPodOptions.PodStatusFunc != nil {
		r.statusFunc = o.KillPodOptions.PodStatusFunc
		if r.next != nil { // A successor that is still waiting was evicted with it.
			r.next.statusFunc = r.statusFunc
		}
	}
}

// isCreateOfTerminatingPod reports whether the update is a create of a pod that is already deleted or in a
// terminal phase.
func isCreateOfTerminatingPod(o *UpdatePodOptions) bool {
	return o.UpdateType == SyncPodCreate && o.Pod != nil && (o.Pod.DeletionTimestamp != nil || podstatus.IsTerminal(o.Pod.Status.Phase))
}

// startNextIncarnation replaces the pods of the record by the pods that waited under the same UID, and resets
// the retry state. observedMark stays, because an observation of the old pod is not fresh for the new one.
func (r *record) startNextIncarnation() {
	r.content = *r.next
	r.next, r.contentFrozen = nil, false
	r.failedCallStatus, r.transientFailures = nil, 0
}

// records are stored in chunks, so that a pointer to one stays valid while the table grows.
type records []*[recordChunk]record

const recordChunk = 64

// recordAtOrAllocate returns the record of a Ref. It allocates memory for the record if needed.
func (rs *records) recordAtOrAllocate(ref lifecycle.Ref) *record {
	chunk, place := ref.Index()/recordChunk, ref.Index()%recordChunk
	for len(*rs) <= chunk {
		*rs = append(*rs, new([recordChunk]record))
	}
	return &(*rs)[chunk][place]
}
