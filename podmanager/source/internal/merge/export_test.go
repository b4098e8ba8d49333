package merge

// Places are those that the order of the pods takes up, with the holes.
func (t *Tracker) Places() int { return len(t.order) }
