// Package recorder keeps what a node records of its pods, for drawings of their lives (experimental).
//
//	r, err := recorder.New(recorder.Config{})
//	n, err := node.New(node.Config{Timeline: r.Record})
//	...
//	drawing, ok := r.Named("default", "web", time.Now())
//
// It is passive: a lock, and no goroutine. It is bounded by Config.Records
// for each pod, which take memory as they come, and by Config.Gone: so many pods are kept
// that the node knows no more, the last ones. A node without a recorder records nothing and
// has no cost of it.
//
// It is a package of its own because it holds a mutex and a clock; package timeline is pure.
package recorder
