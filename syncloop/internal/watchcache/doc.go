// Package watchcache stores the objects of one resource as an API server shows them, and the last changes,
// so that a list has a version and a watch can resume from it. It is pure.
//
// [Cache.Set] and [Cache.Remove] make changes. Each change gets the next version and is stored in a ring of
// bounded size. [Cache.ChangesSince] returns the changes after a version, or false if the ring no longer has
// all of them. [Change.EventFor] returns the watch event of a change for a watch with a selector: an object
// that begins to match is ADDED, and an object that no longer matches is DELETED.
//
// A name belongs to one object at a time, as in an API server. If an object arrives whose name another object
// has, the new one is shown when the other one is removed.
//
// The objects in a Cache never change after they are shown, so any goroutine may read them. A Cache itself
// is not safe for concurrent use.
package watchcache
