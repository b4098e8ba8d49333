package cri

// Known is how many records are remembered.
func (r *Runtime) Known() int {
	r.records.mu.Lock()
	defer r.records.mu.Unlock()
	return len(r.records.known)
}
