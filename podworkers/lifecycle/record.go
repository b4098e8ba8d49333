package lifecycle

import "k8s.io/apimachinery/pkg/types"

// Ref identifies a record of the table. It is valid until OpForget and never becomes valid again. A
// stale Ref does no harm. The zero Ref identifies no record.
type Ref struct{ slot, version uint32 }

// Index returns a small number that no other valid Ref has. The caller can use it as an index into
// a slice with its own data about the pod. It is never 0.
func (r Ref) Index() int { return int(r.slot) }

// record is the state of one pod. It holds neither the pod's content nor a time. It has about 100
// bytes, because a table may hold a hundred thousand records, most of them idle.
type record struct {
	uid              types.UID
	fullName         string // static pods only
	generation       uint64 // of the current content
	incarnation      uint64
	grace            Grace       // the effective grace period; unset until the pod has to terminate
	contentSeconds   int64       // the content's own grace period, at least minGrace; 0: there is no content
	cold             *coldFields // nil for most records
	slot             uint32
	version          uint32
	next, prev       uint32 // neighbours in the name queue, or the next free record
	desiredEpoch     uint32 // the last SyncKnown call whose snapshot had the pod
	source           uint32 // index+1 in Table.sources; 0: known from the runtime only
	stage            Stage
	activity         activity
	flags            stickyFlags
	reason           SyncPodType // of the pending update
	pending          bool        // no worker has taken the newest update yet
	inWorkQueue      bool        // the pod has an entry in the work queue
	graceFromContent bool        // the pod completed by itself, and grace is still its content's own: it is not passed to the syncer
	failed           bool        // the last call failed, and the pod waits for its retry
	runtimeChanged   bool        // the runtime showed a change since the last call started; that call may have made it
	waitsForRuntime  bool        // the last call failed because the runtime did not answer
	stable           bool        // the last call left nothing to do until something changes
	wokenByRuntime   bool        // the runtime's answer woke the pod; another answer does not wake it again
}

// ref returns the Ref of the record.
func (r *record) ref() Ref { return Ref{r.slot, r.version} }

// isUsed reports whether the record holds a pod.
func (r *record) isUsed() bool { return r.uid != "" }

// isRuntimeOnly reports whether the pod is known from the runtime only: no source has delivered it.
func (r *record) isRuntimeOnly() bool { return !r.flags.hasAny(flagHasConfig) }

// canFinishUnstartedStatic reports whether r is a static pod that is not syncing, never started and was not
// found in the runtime. It has no container, so it is finished without a call of SyncTerminatingPod or
// SyncTerminatedPod.
func (r *record) canFinishUnstartedStatic() bool {
	return r.stage != StageSyncing && r.flags.hasAny(flagStatic) && !r.flags.hasAny(flagStarted|flagFoundInRuntime)
}

// coldFields are the fields that few records need. A record has them while a kill waits for the
// pod's termination, or while a successor waits for the same UID.
type coldFields struct {
	tickets              []Ticket
	statusFuncGeneration uint64 // generation of the last update with a status func
	next                 successor
}

// reset clears all fields and keeps the memory of the list of tickets for reuse.
func (x *coldFields) reset() { *x = coldFields{tickets: x.tickets[:0]} }

// ensureColdFields returns the rarely needed fields of r. If r has none, it gives r freed or new ones.
func (t *Table) ensureColdFields(r *record) *coldFields {
	if r.cold == nil {
		if n := len(t.freeColdFields); n > 0 {
			r.cold, t.freeColdFields = t.freeColdFields[n-1], t.freeColdFields[:n-1]
		} else {
			r.cold = new(coldFields)
		}
	}
	return r.cold
}

// slab allocates records at fixed addresses and reuses freed ones. Slot 0 is never used.
type slab struct {
	chunks      []*[slabChunkSize]record
	highestUsed uint32 // the highest slot that was ever used
	firstFree   uint32 // head of the list of free slots; 0: empty
}

const slabChunkSize = 32

// at returns the record with the number slot. It panics if that number was never allocated.
func (s *slab) at(slot uint32) *record { return &s.chunks[slot/slabChunkSize][slot%slabChunkSize] }

// allocateOrReuseRecord returns an empty record. It reuses a freed record if there is any, and allocates a new
// one if not.
func (s *slab) allocateOrReuseRecord() *record {
	if s.firstFree != 0 {
		r := s.at(s.firstFree)
		s.firstFree, r.next = r.next, 0
		return r
	}
	s.highestUsed++
	if int(s.highestUsed/slabChunkSize) == len(s.chunks) {
		s.chunks = append(s.chunks, new([slabChunkSize]record))
	}
	r := s.at(s.highestUsed)
	r.slot, r.version = s.highestUsed, 1
	return r
}

// freeAndInvalidateRefs clears a record and puts it into the list of free records. It changes the version of
// the record, so that recordOrNilIfStale returns nil for every existing Ref to it.
func (s *slab) freeAndInvalidateRefs(r *record) {
	*r = record{slot: r.slot, version: r.version + 1, next: s.firstFree}
	s.firstFree = r.slot
}

// recordOrNilIfStale returns the record that a Ref identifies. It returns nil if the record was freed since the
// Ref was made.
func (s *slab) recordOrNilIfStale(ref Ref) *record {
	if ref.slot == 0 || ref.slot > s.highestUsed {
		return nil
	}
	r := s.at(ref.slot)
	if r.version != ref.version || !r.isUsed() {
		return nil
	}
	return r
}
