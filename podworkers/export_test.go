package podworkers

// Queued is how many pods have a retry.
func (w *Workers) Queued() int { return w.queue.Len() }
