// Package watchcache keeps the pods of a node as an API server shows them, and its last
// changes, so that a list has a version and a watch resumes from it. It is pure.
//
// [Cache.Set] and [Cache.Remove] make changes. Each change has the next version and is kept
// in a ring of bounded size. [Cache.Since] returns the changes after a version, or says that
// the ring does not reach back that far. [Change.For] is what a change means to a watch with
// a selector: a pod that begins to match is ADDED, one that stops to match is DELETED.
//
// A name belongs to one pod at a time, as in an API server. A pod whose name another pod has
// is not shown until that one is gone.
//
// The pods in a Cache are never changed once they are shown: any goroutine may read them. A
// Cache itself is not safe for concurrent use.
package watchcache
