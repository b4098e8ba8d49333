// Package watchcache keeps the objects of one resource as an API server shows them, and the last
// changes, so that a list has a version and a watch resumes from it. It is pure.
//
// [Cache.Set] and [Cache.Remove] make changes. Each change has the next version and is kept
// in a ring of bounded size. [Cache.Since] returns the changes after a version, or says that
// the ring does not reach back that far. [Change.For] is what a change means to a watch with
// a selector: an object that begins to match is ADDED, one that stops to match is DELETED.
//
// A name belongs to one object at a time, as in an API server. An object whose name another
// one has is not shown until that one is gone.
//
// The objects in a Cache are never changed once they are shown: any goroutine may read them. A
// Cache itself is not safe for concurrent use.
package watchcache
