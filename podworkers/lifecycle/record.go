package lifecycle

import "k8s.io/apimachinery/pkg/types"

// Ref is a record of the table. It stays valid until OpForget and never
// becomes valid again; a stale one is harmless. The zero Ref is none.
type Ref struct{ slot, version uint32 }

// Index is a small number that no other valid Ref has, so that the caller can
// keep its own side of the record in a slice. It is never 0.
func (r Ref) Index() int { return int(r.slot) }

// record is one pod. It holds values only, no content and no time. About 100
// bytes: there may be a hundred thousand of them, nearly all idle.
type record struct {
	uid             types.UID
	fullName        string // static pods only
	generation      uint64 // of the current content
	incarnation     uint64
	grace           int64       // effective, in seconds; 0: not settled
	fallback        int64       // what the content says about grace; 0: there is no content
	coldFields      *coldFields // nil for nearly all
	slot            uint32
	version         uint32
	next, prev      uint32 // neighbours in the queue of the full name, or the free list
	seen            uint32 // the last epoch in which the pod was desired
	source          uint32 // index+1; 0: only the runtime knows it
	stage           Stage
	activity        activity
	latches         latches
	reason          SyncPodType // of the pending update
	pending         bool        // an update has not been taken yet
	queued          bool        // it has an entry in the work queue
	implicit        bool        // grace is what the content says anyway: pass none
	failed          bool        // its last work has failed, and it waits until that is tried again
	shown           bool        // the runtime has shown a change since, or while it works: perhaps an echo
	waitsForRuntime bool        // it waits because the runtime could not be asked
	stable          bool        // its last work has left nothing to do until something changes
	wokenByRuntime  bool        // an answer has cut its wait short, and nothing else has come of it since
}

func (r *record) ref() Ref   { return Ref{r.slot, r.version} }
func (r *record) used() bool { return r.uid != "" }

// runtimeOnly is true while nothing but the runtime has spoken of the pod.
func (r *record) runtimeOnly() bool { return !r.latches.has(config) }

// neverStarted is true for a static pod that has to end before it ever started: no
// container of it exists, so no method of the syncer needs to be called.
func (r *record) neverStarted() bool {
	return r.stage != StageSyncing && r.latches.has(static) && !r.latches.has(started|observed)
}

// coldFields are the fields that few records need: they exist while somebody waits for the end of
// a pod, or a successor waits behind it.
type coldFields struct {
	tickets    []Ticket
	statusFunc uint64 // generation of the last update with a status function
	next       successor
}

func (x *coldFields) reset() { *x = coldFields{tickets: x.tickets[:0]} }

// coldFields returns r's cold fields and makes them if need be.
func (t *Table) coldFields(r *record) *coldFields {
	if r.coldFields == nil {
		if n := len(t.freeColdFields); n > 0 {
			r.coldFields, t.freeColdFields = t.freeColdFields[n-1], t.freeColdFields[:n-1]
		} else {
			r.coldFields = new(coldFields)
		}
	}
	return r.coldFields
}

// slab keeps records at fixed addresses and re-uses them. Slot 0 is no slot.
type slab struct {
	chunks []*[chunk]record
	used   uint32 // the highest slot that was ever in use
	first  uint32 // the free list
}

const chunk = 32

func (s *slab) at(slot uint32) *record { return &s.chunks[slot/chunk][slot%chunk] }

func (s *slab) take() *record {
	if s.first != 0 {
		r := s.at(s.first)
		s.first, r.next = r.next, 0
		return r
	}
	s.used++
	if int(s.used/chunk) == len(s.chunks) {
		s.chunks = append(s.chunks, new([chunk]record))
	}
	r := s.at(s.used)
	r.slot, r.version = s.used, 1
	return r
}

func (s *slab) free(r *record) {
	*r = record{slot: r.slot, version: r.version + 1, next: s.first}
	s.first = r.slot
}

// get returns the record of a Ref, nil if it is stale.
func (s *slab) get(ref Ref) *record {
	if ref.slot == 0 || ref.slot > s.used {
		return nil
	}
	r := s.at(ref.slot)
	if r.version != ref.version || !r.used() {
		return nil
	}
	return r
}
