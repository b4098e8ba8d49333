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

// findRecord returns the record of a pod, or nil if the pod is unknown.
func (t *Table) findRecord(uid types.UID) *record {
	slot, ok := t.byUID[uid]
	if !ok {
		return nil
	}
	return t.slots.at(slot)
}

// addRecord adds an empty record for an unknown pod. Its incarnation, the number that distinguishes pods with
// the same UID, is higher than the number of every forgotten record, so that no earlier pod of the UID had it.
func (t *Table) addRecord(uid types.UID) *record {
	r := t.slots.allocateOrReuseRecord()
	r.uid = uid
	r.incarnation = t.highestForgottenIncarnation + 1
	t.byUID[uid] = r.slot
	return r
}

// forgetRecord deletes a record and emits OpForget. It first resolves the pod's tickets, takes the pod out of
// the queue for its full name (the next pod there may wake) and removes its retry from the work queue.
func (t *Table) forgetRecord(r *record, resolution Resolution, out *Effects) {
	t.resolveTickets(r, resolution, out)
	t.leaveNameQueueAndWakeNext(r, out)
	t.removeRetry(r, out)
	appendEffect(out, OpForget, r)
	t.highestForgottenIncarnation = max(t.highestForgottenIncarnation, r.incarnation)
	if r.cold != nil {
		t.freeColdFields = append(t.freeColdFields, r.cold)
		r.cold.reset()
	}
	delete(t.byUID, r.uid)
	t.slots.freeAndInvalidateRefs(r)
}

// getOrAddSource returns the index in t.sources, plus one, of the source with that name. It appends the source
// if it is not there.
func (t *Table) getOrAddSource(sourceName string) uint32 {
	for i, o := range t.sources {
		if o == sourceName {
			return uint32(i) + 1
		}
	}
	t.sources = append(t.sources, sourceName)
	return uint32(len(t.sources))
}

// wakeIdleWorker makes an idle pod ready for StartPodSync, clears its failed and runtimeChanged, and emits
// OpWake. If the pod is not idle, nothing happens.
func (t *Table) wakeIdleWorker(r *record, out *Effects) {
	if r.activity == idle {
		r.activity, r.failed, r.runtimeChanged = ready, false, false
		appendEffect(out, OpWake, r)
	}
}

// enqueueRetry emits OpRequeue, so that the caller syncs the pod again after the delay of the class.
func (t *Table) enqueueRetry(r *record, class backoff.Class, out *Effects) {
	r.inWorkQueue = true
	appendEffect(out, OpRequeue, r).Class = class
}

// removeRetry emits OpUnqueue if the pod has an entry in the work queue, so that the caller deletes that entry.
func (t *Table) removeRetry(r *record, out *Effects) {
	if r.inWorkQueue {
		r.inWorkQueue = false
		appendEffect(out, OpUnqueue, r)
	}
}

// moveStage moves a record to the stage that stageAfter has for the transition. If that changes the phase, it
// emits OpPhase and returns true.
func (t *Table) moveStage(r *record, cause transition, out *Effects) (phaseChanged bool) {
	before := r.stage.Phase()
	r.stage = stageAfter[cause][r.stage]
	if r.stage.Phase() == before {
		return false
	}
	appendEffect(out, OpPhase, r).Phase = r.stage.Phase()
	return true
}

// appendEffect appends an effect about r to out. It returns the effect, so that the caller can set its other
// fields.
func appendEffect(out *Effects, op Op, r *record) *Effect {
	*out = append(*out, Effect{Op: op, Ref: r.ref(), UID: r.uid, Incarnation: r.incarnation})
	return &(*out)[len(*out)-1]
}
