package cri

// Known is how many records are remembered.
func (r *Runtime) Known() int {
	r.records.mu.Lock()
	defer r.records.mu.Unlock()
	return len(r.records.known)
}

// Lanes is of how many sandboxes stops are remembered.
func (r *Runtime) Lanes() int {
	n := 0
	for _, q := range []*stopQueue{&r.containerStops, &r.sandboxStops} {
		q.mu.Lock()
		n += len(q.mu.lanes)
		q.mu.Unlock()
	}
	return n
}
