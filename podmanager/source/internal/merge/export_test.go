package merge

// Len is how many pods the snapshot holds, without the rejected ones.
func (p *Snapshot) Len() int {
	if p == nil {
		return 0
	}
	return len(p.entries)
}
