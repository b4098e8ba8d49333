package explain

import (
	"time"
	"unique"
)

// Ring is the last entries of a pod. It takes memory as it fills, and its zero
// value is empty.
type Ring struct {
	entries  []ringEntry
	location *time.Location // of the last entry
	next     int            // where the next goes, once it is full
}

// ringEntry is an entry as it is kept: what is said of one pod is said of most, so they share it.
type ringEntry struct {
	said    unique.Handle[entryText]
	seconds int64 // of Unix time
	nanos   int32
	times   uint32
}

type entryText struct{ what, text, err string }

// Add adds an entry, in place of the oldest if the ring is full.
func (r *Ring) Add(e Entry) {
	k := ringEntry{
		said:    unique.Make(entryText{e.What, sanitizeLine(e.Text), sanitizeLine(e.Err)}),
		seconds: e.At.Unix(), nanos: int32(e.At.Nanosecond()), times: uint32(e.Times),
	}
	r.location = e.At.Location()
	switch last := r.lastEntry(); {
	case last != nil && last.said == k.said:
		k.times = max(last.times, 1) + 1
		*last = k
	case len(r.entries) < RingSize:
		r.entries = append(r.entries, k)
	default:
		r.entries[r.next] = k
		r.next = (r.next + 1) % RingSize
	}
}

func (r *Ring) lastEntry() *ringEntry {
	if len(r.entries) == 0 {
		return nil
	}
	return &r.entries[(r.next+len(r.entries)-1)%len(r.entries)]
}

// Entries are a copy of all, oldest first.
func (r *Ring) Entries() []Entry {
	var entries []Entry
	for i := range r.entries {
		k := &r.entries[(r.next+i)%len(r.entries)]
		s := k.said.Value()
		entries = append(entries, Entry{
			At: time.Unix(k.seconds, int64(k.nanos)).In(r.location), What: s.what, Text: s.text, Err: s.err, Times: int(k.times),
		})
	}
	return entries
}
