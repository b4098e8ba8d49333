package explain

import (
	"time"
	"unique"
)

// Ring has the last entries of a pod. It allocates memory as it fills. The zero value is empty.
type Ring struct {
	entries  []ringEntry
	location *time.Location // location of the last entry's time
	next     int            // index of the next entry, once the ring is full
}

// ringEntry is a stored entry. Most pods have entries with equal texts, so entries share their texts.
type ringEntry struct {
	said    unique.Handle[entryText]
	seconds int64 // of Unix time
	nanos   int32
	times   uint32
}

type entryText struct{ what, text, err string }

// Add adds an entry. A full ring drops its oldest entry.
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

// lastEntry returns a pointer to the newest entry, or nil if the ring is empty.
func (r *Ring) lastEntry() *ringEntry {
	if len(r.entries) == 0 {
		return nil
	}
	return &r.entries[(r.next+len(r.entries)-1)%len(r.entries)]
}

// Entries returns a copy of all entries, oldest first.
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
