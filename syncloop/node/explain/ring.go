package explain

import "time"

// RingSize is how many entries a Ring holds.
const RingSize = 32

// Entry is one thing that happened to a pod. The same thing several times in a
// row is one entry.
type Entry struct {
	At   time.Time `json:"at"`   // of the last time
	What string    `json:"what"` // phase, status, action, sync or probe
	Text string    `json:"text"`
	Err  string    `json:"error,omitempty"`
	// Times is how often it happened in a row; 0 is once.
	Times int `json:"times,omitempty"`
}

// Ring is the last entries of a pod. It takes memory as it fills, and its zero
// value is empty.
type Ring struct {
	entries []Entry
	next    int // where the next goes, once it is full
}

// Add adds an entry, in place of the oldest if the ring is full.
func (r *Ring) Add(e Entry) {
	e.Text, e.Err = line(e.Text), line(e.Err)
	if last := r.last(); last != nil && last.What == e.What && last.Text == e.Text && last.Err == e.Err {
		last.At = e.At
		last.Times = max(last.Times, 1) + 1
		return
	}
	if len(r.entries) < RingSize {
		r.entries = append(r.entries, e)
		return
	}
	r.entries[r.next] = e
	r.next = (r.next + 1) % RingSize
}

func (r *Ring) last() *Entry {
	if len(r.entries) == 0 {
		return nil
	}
	return &r.entries[(r.next+len(r.entries)-1)%len(r.entries)]
}

// Entries are a copy of all, oldest first.
func (r *Ring) Entries() []Entry {
	return append(append([]Entry(nil), r.entries[r.next:]...), r.entries[:r.next]...)
}
