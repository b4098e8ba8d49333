package podworkers

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// record is the shell's side of a record of the table: what the table does not
// need to know to decide.
type record struct {
	content
	// next is the content of the incarnation that waits for this one to end.
	next *content
	// mark is the newest observation that was begun when the last call of the
	// syncer ended: a later one is fresh.
	mark uint64
	// seen is what the last call was shown, if that has failed; transients counts the
	// calls in a row that have failed for a reason that passes soon.
	seen       *runtime.PodStatus
	transients int
	// running is the work that is being done, nil without any.
	running *job
	// run is this record's runner, made once and started whenever there is
	// work, so that starting it allocates nothing.
	run func()
	// sealed: the present incarnation's content is not renewed any more. It had
	// a successor, and all that comes speaks of that one's pod.
	sealed bool
}

// content is what the caller wants of one incarnation of a pod.
type content struct {
	pod        *v1.Pod
	runningPod *runtime.Pod
	mirror     *v1.Pod   // of the newest update, nil if it had none
	lastMirror *v1.Pod   // of the newest update that had one, for replays
	since      time.Time // StartTime of the oldest update not yet run
	// amend changes the final status, if the table says so; the last function that
	// came counts.
	statusFunc PodStatusFunc
}

// renew takes over the newest update of the same incarnation (B-052,
// B-079).
func (c *content) renew(o *UpdatePodOptions) {
	if o.Pod != nil {
		c.pod = o.Pod
	}
	c.runningPod = o.RunningPod
	c.mirror = o.MirrorPod
	if o.MirrorPod != nil {
		c.lastMirror = o.MirrorPod
	}
	if c.since.IsZero() || !o.StartTime.IsZero() && o.StartTime.Before(c.since) {
		c.since = o.StartTime
	}
}

// keep stores what an accepted update brought.
func (r *record) keep(o *UpdatePodOptions, accepted lifecycle.Accepted) {
	switch accepted.Disposition {
	case lifecycle.Ignored:
		return
	case lifecycle.Queued:
		if r.next == nil {
			r.next = new(content)
		}
		r.next.renew(o)
		return
	}
	// What comes while a successor waits and is not queued is the end of both,
	// and so is a create of a pod that is at its end. They speak of a pod with
	// which the present incarnation, that has yet to stop its own containers,
	// has nothing to do, unless that is known from the runtime alone. So does
	// all that comes later.
	if r.pod != nil && (r.next != nil || bornEnded(o)) {
		r.sealed = true
	}
	if !r.sealed {
		r.renew(o)
	}
	if o.UpdateType != SyncPodSync {
		r.transients = 0 // What is desired now may go well at once.
	}
	if o.KillPodOptions != nil && o.KillPodOptions.PodStatusFunc != nil {
		r.statusFunc = o.KillPodOptions.PodStatusFunc
		if r.next != nil { // If it is still there after this, it is evicted as well.
			r.next.statusFunc = r.statusFunc
		}
	}
}

// bornEnded: the pod is new, and is not to live.
func bornEnded(o *UpdatePodOptions) bool {
	return o.UpdateType == SyncPodCreate && o.Pod != nil && (o.Pod.DeletionTimestamp != nil || podstatus.IsTerminal(o.Pod.Status.Phase))
}

// promote begins the next incarnation. The mark stays: what was observed of
// the old one is not fresh for the new one.
func (r *record) promote() {
	r.content = *r.next
	r.next, r.sealed = nil, false
	r.seen, r.transients = nil, 0
}

// records are kept in chunks, so that a pointer into one stays valid while the
// table grows.
type records []*[recordChunk]record

const recordChunk = 64

func (rs *records) at(ref lifecycle.Ref) *record {
	chunk, place := ref.Index()/recordChunk, ref.Index()%recordChunk
	for len(*rs) <= chunk {
		*rs = append(*rs, new([recordChunk]record))
	}
	return &(*rs)[chunk][place]
}
