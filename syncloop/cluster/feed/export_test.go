package feed

// Written is of how many pods a write is remembered.
func (p *Pods) Written() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mu.wrote)
}
