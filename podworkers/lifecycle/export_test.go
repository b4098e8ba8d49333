package lifecycle

// Fingerprint appends the state of a table without its counters: two tables
// with one fingerprint answer every further history alike, numbers apart. mark
// is a generation that a later call may name.
func (t *Table) Fingerprint(b []byte, mark uint64) []byte {
	b = append(b, bits(t.synced, t.down), byte(t.slots.first))
	for slot := uint32(1); slot <= t.slots.used; slot++ {
		r := t.slots.at(slot)
		b = append(b, r.uid...)
		b = append(b, byte(r.stage), byte(r.activity), byte(r.latches), byte(r.reason), byte(r.source), byte(r.grace), byte(r.fallback),
			byte(r.next), byte(r.prev), bits(r.pending, r.queued, r.implicit, r.generation > mark, r.generation < t.generation, r.waitsForRuntime, r.wokenByRuntime), bits(r.failed, r.shown, r.stable))
		if x := r.coldFields; x != nil {
			f := x.next.facts
			b = append(b, byte(len(x.tickets)), byte(f.SpecGrace.Seconds), byte(f.DeletionGrace.Seconds),
				bits(x.statusFunc != 0, x.next.generation != 0, x.next.generation > mark, f.Static))
		}
		b = append(b, '|')
	}
	return b
}

func bits(list ...bool) (b byte) {
	for i, on := range list {
		if on {
			b |= 1 << i
		}
	}
	return b
}

// Stages, Events and Move show the machine to its test.
const (
	Stages = int(stages)
	Events = int(events)
)

// Move is an entry of the machine.
func Move(e, from int) int { return int(moves[e][from]) }
