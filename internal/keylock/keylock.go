package keylock

import "sync"

// Locks is a lock for each key. The zero value is ready for use; it must not be
// copied after first use.
type Locks[K comparable] struct {
	mu struct {
		sync.Mutex
		keys map[K]*entry
	}
}

// entry is a lock while someone has it or waits for it.
type entry struct {
	sync.Mutex
	users int // guarded by Locks.mu
}

// Lock waits until nobody else has the lock of a key, takes it, and returns what
// gives it back, to be called once. It may be called concurrently. The holder does
// not wait for anything else, and does not lock the same key again.
func (l *Locks[K]) Lock(key K) (unlock func()) {
	e := l.addUser(key)
	e.Lock()
	return func() {
		e.Unlock()
		l.removeUser(key, e)
	}
}

func (l *Locks[K]) addUser(key K) *entry {
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

func (l *Locks[K]) removeUser(key K, e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.users--; e.users == 0 {
		delete(l.mu.keys, key)
	}
}
