package merge

// Places returns the length of the order, with the holes.
func (t *Tracker) Places() int { return len(t.order) }
