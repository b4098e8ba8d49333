package cri

// Known is how many records are remembered.
func (r *Runtime) Known() int {
	r.records.mu.Lock()
	defer r.records.mu.Unlock()
	return len(r.records.known)
}

// Lanes is of how many sandboxes stops are remembered.
func (r *Runtime) Lanes() int {
	r.stops.mu.Lock()
	defer r.stops.mu.Unlock()
	return len(r.stops.mu.lanes)
}
