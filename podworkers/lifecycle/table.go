package lifecycle

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// Table holds the pods of a node. It must not be used concurrently. The zero
// Table is not ready for use; see New.
type Table struct {
	byUID          map[types.UID]uint32
	slots          slab
	nameQueues     map[string]nameQueue // by full name: who holds it, who waits
	freeColdFields []*coldFields        // for re-use

	sources  []string // in order of first sight; a record's source is index+1
	excluded []bool   // scratch of SyncKnown, by source

	generation uint64 // of the last accepted content
	tickets    Ticket // the last one given
	floor      uint64 // the highest incarnation of a forgotten pod
	epoch      uint32 // counts SyncKnown
	synced     bool   // every source has delivered
	down       bool   // Shutdown was called
}

// New returns an empty table.
func New() *Table {
	return &Table{byUID: make(map[types.UID]uint32), nameQueues: make(map[string]nameQueue)}
}

// Generation is the number of the last accepted content. Read it before taking
// a snapshot of the desired state or of the runtime, and hand it in with the snapshot.
func (t *Table) Generation() uint64 { return t.generation }

// Len is the number of known pods.
func (t *Table) Len() int { return len(t.byUID) }

// Sources lists every source seen so far, in order of first sight, for
// Known.ExcludedSources. It is only to be read, and valid until the next Update.
func (t *Table) Sources() []string { return t.sources }

// Find returns the record of a pod.
func (t *Table) Find(uid types.UID) (Ref, bool) {
	r := t.find(uid)
	if r == nil {
		return Ref{}, false
	}
	return r.ref(), true
}

// View answers every question about one pod, known or not.
func (t *Table) View(uid types.UID) View { return t.view(t.find(uid)) }

// Owner is the view of the static pod that has been started under a full name
// and whose containers have not been stopped yet. There is at most one; with
// none the view is that of an unknown pod.
func (t *Table) Owner(fullName string) View {
	l, ok := t.nameQueues[fullName]
	if !ok {
		return t.view(nil)
	}
	head := t.slots.at(l.head)
	if !head.latches.has(started) {
		return t.view(nil)
	}
	return t.view(head)
}

// Shutdown resolves every open ticket with Abandoned. After it updates are
// refused with ErrShutdown and StartPodSync hands out nothing; Done is still heard.
func (t *Table) Shutdown(out *Effects) {
	t.down = true
	for slot := uint32(1); slot <= t.slots.used; slot++ {
		if r := t.slots.at(slot); r.used() {
			t.resolve(r, Abandoned, out)
		}
	}
}

func (t *Table) find(uid types.UID) *record {
	slot, ok := t.byUID[uid]
	if !ok {
		return nil
	}
	return t.slots.at(slot)
}

// add makes the record of a pod that is not known yet.
func (t *Table) add(uid types.UID) *record {
	r := t.slots.take()
	r.uid = uid
	r.incarnation = t.floor + 1
	t.byUID[uid] = r.slot
	return r
}

// forget drops a record and whatever hangs on it.
func (t *Table) forget(r *record, o Resolution, out *Effects) {
	t.resolve(r, o, out)
	t.leave(r, out)
	t.unqueue(r, out)
	emit(out, OpForget, r)
	t.floor = max(t.floor, r.incarnation)
	if r.coldFields != nil {
		t.freeColdFields = append(t.freeColdFields, r.coldFields)
		r.coldFields.reset()
	}
	delete(t.byUID, r.uid)
	t.slots.free(r)
}

// source numbers a source's name.
func (t *Table) source(of string) uint32 {
	for i, o := range t.sources {
		if o == of {
			return uint32(i) + 1
		}
	}
	t.sources = append(t.sources, of)
	return uint32(len(t.sources))
}

// wake asks for a runner, unless one is there or was asked for.
func (t *Table) wake(r *record, out *Effects) {
	if r.activity == idle {
		r.activity, r.failed, r.shown = ready, false, false
		emit(out, OpWake, r)
	}
}

func (t *Table) requeue(r *record, c backoff.Class, out *Effects) {
	r.queued = true
	emit(out, OpRequeue, r).Class = c
}

func (t *Table) unqueue(r *record, out *Effects) {
	if r.queued {
		r.queued = false
		emit(out, OpUnqueue, r)
	}
}

// move applies an event to a record's stage, says so if callers can see it,
// and reports whether the phase changed.
func (t *Table) move(r *record, e event, out *Effects) bool {
	before := r.stage.Phase()
	r.stage = moves[e][r.stage]
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
