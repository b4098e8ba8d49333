package lifecycle

// Fingerprint appends the state of a table without its counters. Two tables with equal fingerprints
// return the same results for all later inputs, except for numbers. mark is a generation that a
// later call may use.
func (t *Table) Fingerprint(b []byte, mark uint64) []byte {
	b = append(b, packBits(t.allSourcesDelivered, t.shutDown), byte(t.slots.firstFree))
	for slot := uint32(1); slot <= t.slots.highestUsed; slot++ {
		r := t.slots.at(slot)
		b = append(b, r.uid...)
		b = append(b, byte(r.stage), byte(r.activity), byte(r.flags), byte(r.reason), byte(r.source), byte(r.grace.Seconds), byte(r.contentSeconds),
			byte(r.next), byte(r.prev), packBits(r.pending, r.inWorkQueue, r.graceFromContent, r.generation > mark, r.generation < t.generation, r.waitsForRuntime, r.wokenByRuntime), packBits(r.failed, r.runtimeChanged, r.stable))
		if x := r.cold; x != nil {
			f := x.next.facts
			b = append(b, byte(len(x.tickets)), byte(f.SpecGrace.Seconds), byte(f.DeletionGrace.Seconds),
				packBits(x.statusFuncGeneration != 0, x.next.generation != 0, x.next.generation > mark, f.Static))
		}
		b = append(b, '|')
	}
	return b
}

func packBits(list ...bool) (b byte) {
	for i, on := range list {
		if on {
			b |= 1 << i
		}
	}
	return b
}

// Stages, Events and Move export the state machine to its test.
const (
	Stages = int(stages)
	Events = int(transitions)
)

// Move returns an entry of the state machine.
func Move(e, from int) int { return int(stageAfter[e][from]) }
