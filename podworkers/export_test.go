package podworkers

import "github.com/podkeel/podkeel/workqueue"

// Queued is how many pods have a retry.
func (w *Workers) Queued() int { return w.mu.queue.inner.(*workqueue.Queue).Len() }
