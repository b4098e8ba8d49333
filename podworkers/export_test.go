package podworkers

import "github.com/podkeel/podkeel/workqueue"

// Queued returns the number of entries in the work queue.
func (w *Workers) Queued() int { return w.mu.queue.inner.(*workqueue.Queue).Len() }
