package lifecycle

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// Table holds the pods of a node. It must not be used concurrently. Use New to make one.
type Table struct {
	byUID          map[types.UID]uint32
	slots          slab
	nameQueues     map[string]nameQueue // by full name
	freeColdFields []*coldFields        // for reuse

	sources  []string // in the order of their first update; record.source is the index+1
	excluded []bool   // used by SyncKnown only: whether each of the sources is excluded

	generation                  uint64 // of the last accepted content
	lastTicket                  Ticket // the last ticket that was issued
	highestForgottenIncarnation uint64 // of all forgotten records
	syncKnownEpoch              uint32 // counts the calls of SyncKnown
	allSourcesDelivered         bool   // every source has delivered
	shutDown                    bool   // Shutdown was called
}

// New returns an empty table.
func New() *Table {
	return &Table{byUID: make(map[types.UID]uint32), nameQueues: make(map[string]nameQueue)}
}

// Generation returns the number of the last accepted content. The table numbers the contents of all
// pods in the order of their acceptance; the number is not metadata.generation. Read it before you
// take a snapshot of the desired state or of the runtime, and pass it with the snapshot.
func (t *Table) Generation() uint64 { return t.generation }

// Len returns the number of known pods.
func (t *Table) Len() int { return len(t.byUID) }

// Sources lists every source seen so far, in the order of its first update, for
// DesiredSnapshot.ExcludedSources. The caller must not modify the list. It is valid until the next
// Update.
func (t *Table) Sources() []string { return t.sources }

// Find returns the Ref of a pod, and false if the pod is unknown.
func (t *Table) Find(uid types.UID) (Ref, bool) {
	r := t.findRecord(uid)
	if r == nil {
		return Ref{}, false
	}
	return r.ref(), true
}

// View returns the state of one pod, known or unknown.
func (t *Table) View(uid types.UID) View { return t.view(t.findRecord(uid)) }

// Owner returns the view of the static pod that was started under a full name and has containers
// that are not stopped yet. There is at most one. If there is none, Owner returns the view of an
// unknown pod.
func (t *Table) Owner(fullName string) View {
	l, ok := t.nameQueues[fullName]
	if !ok {
		return t.view(nil)
	}
	head := t.slots.at(l.head)
	if !head.flags.hasAny(flagStarted) {
		return t.view(nil)
	}
	return t.view(head)
}

// Shutdown resolves every open ticket with Abandoned. From then on updates return ErrShutdown and
// StartPodSync returns no work. Done still accepts results.
func (t *Table) Shutdown(out *Effects) {
	t.shutDown = true
	for slot := uint32(1); slot <= t.slots.highestUsed; slot++ {
		if r := t.slots.at(slot); r.isUsed() {
			t.resolveTickets(r, Abandoned, out)
		}
	}
}

// findRecord returns the record of a pod, or nil.
func (t *Table) findRecord(uid types.UID) *record {
	slot, ok := t.byUID[uid]
	if !ok {
		return nil
	}
	return t.slots.at(slot)
}

// newRecord adds an empty record for an unknown pod.
func (t *Table) newRecord(uid types.UID) *record {
	r := t.slots.allocate()
	r.uid = uid
	r.incarnation = t.highestForgottenIncarnation + 1
	t.byUID[uid] = r.slot
	return r
}

// forgetRecord deletes a record. It resolves its tickets, and removes it from the queue of its full
// name and from the work queue.
func (t *Table) forgetRecord(r *record, resolution Resolution, out *Effects) {
	t.resolveTickets(r, resolution, out)
	t.leaveNameQueue(r, out)
	t.removeRetry(r, out)
	emit(out, OpForget, r)
	t.highestForgottenIncarnation = max(t.highestForgottenIncarnation, r.incarnation)
	if r.cold != nil {
		t.freeColdFields = append(t.freeColdFields, r.cold)
		r.cold.reset()
	}
	delete(t.byUID, r.uid)
	t.slots.free(r)
}

// sourceIndex returns index+1 of a source in t.sources. It appends a new source.
func (t *Table) sourceIndex(sourceName string) uint32 {
	for i, o := range t.sources {
		if o == sourceName {
			return uint32(i) + 1
		}
	}
	t.sources = append(t.sources, sourceName)
	return uint32(len(t.sources))
}

// wakeWorker emits OpWake if the pod is idle.
func (t *Table) wakeWorker(r *record, out *Effects) {
	if r.activity == idle {
		r.activity, r.failed, r.runtimeChanged = ready, false, false
		emit(out, OpWake, r)
	}
}

// enqueueRetry emits OpRequeue: the pod is synced again after the delay of the class.
func (t *Table) enqueueRetry(r *record, class backoff.Class, out *Effects) {
	r.inWorkQueue = true
	emit(out, OpRequeue, r).Class = class
}

// removeRetry emits OpUnqueue if the pod has an entry in the work queue.
func (t *Table) removeRetry(r *record, out *Effects) {
	if r.inWorkQueue {
		r.inWorkQueue = false
		emit(out, OpUnqueue, r)
	}
}

// moveStage moves a record to the stage that follows a transition. If the phase changes, it emits
// OpPhase and returns true.
func (t *Table) moveStage(r *record, cause transition, out *Effects) (phaseChanged bool) {
	before := r.stage.Phase()
	r.stage = stageAfter[cause][r.stage]
	if r.stage.Phase() == before {
		return false
	}
	emit(out, OpPhase, r).Phase = r.stage.Phase()
	return true
}

// emit appends an effect about r and returns it to be completed.
func emit(out *Effects, op Op, r *record) *Effect {
	*out = append(*out, Effect{Op: op, Ref: r.ref(), UID: r.uid, Incarnation: r.incarnation})
	return &(*out)[len(*out)-1]
}
