package keylock

import "sync"

// Locks has a lock per key. The zero value is ready for use; it must not be copied after first use.
type Locks[K comparable] struct {
	mu struct {
		sync.Mutex
		keys map[K]*entry
	}
}

// entry is the lock of a key that is locked or waited for.
type entry struct {
	sync.Mutex
	users int // guarded by Locks.mu
}

// Lock locks a key and returns the function that unlocks it, which must be called once. Lock may be
// called concurrently. A caller that holds a lock must not wait for anything else, and must not
// lock the same key again.
func (l *Locks[K]) Lock(key K) (unlock func()) {
	e := l.getOrAddEntryForUser(key)
	e.Lock()
	return func() {
		e.Unlock()
		l.removeUser(key, e)
	}
}

// getOrAddEntryForUser returns the entry of a key, which it creates if needed, and adds one to the number of
// its users.
func (l *Locks[K]) getOrAddEntryForUser(key K) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.keys == nil {
		l.mu.keys = make(map[K]*entry)
	}
	e := l.mu.keys[key]
	if e == nil {
		e = &entry{}
		l.mu.keys[key] = e
	}
	e.users++
	return e
}

// removeUser subtracts one from the number of users of an entry. It deletes the entry after its last user.
func (l *Locks[K]) removeUser(key K, e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.users--; e.users == 0 {
		delete(l.mu.keys, key)
	}
}
