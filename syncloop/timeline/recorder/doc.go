// Package recorder stores the records of a node's pods, for drawings of their lives (experimental).
//
//	r, err := recorder.New(recorder.Config{})
//	n, err := node.New(node.Config{Timeline: r.Record})
//	...
//	drawing, ok := r.TimelineByName("default", "web", time.Now())
//
// It is passive: it has a lock and no goroutine. Config.Records bounds the records of each pod, and
// Config.RemovedPods bounds the number of removed pods. A node without a recorder records nothing.
//
// It is a package of its own because it holds a mutex; package timeline is pure.
package recorder
