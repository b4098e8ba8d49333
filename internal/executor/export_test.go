package executor

// SetLimits lowers the livelock limits, so that tests reach them quickly.
func (s *Scheduler) SetLimits(idle, refused int) { s.limits = livelockLimits{idle, refused} }

// Left returns how many coroutines and timers the scheduler still holds.
func (s *Scheduler) Left() int { return len(s.ready) + len(s.pollingContext) + len(s.timers) }

// Callbacks returns the number of callbacks of c.
func (c *Context) Callbacks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for f := c.mu.callbacks.first; f != nil; f = f.next {
		n++
	}
	return n
}

// Parked returns how many goroutines r has parked.
func (r *Runners) Parked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.parked)
}

// PendingRoom pushes n functions into a queue that keeps ten of them. It returns the length of
// the queue and for how many functions it has memory.
func PendingRoom(n int) (length, room int) {
	var q fifo
	for range n {
		q.appendAndCompactIfNeeded(func() {})
		if q.len() > 10 {
			q.removeOldestOrNil()
		}
	}
	return q.len(), cap(q.functions)
}

// EndUnused is a call of the timer of Runners.
func EndUnused(r *Runners) { r.endUnusedAndResetTimer() }
