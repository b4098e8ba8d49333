package review

import (
	"maps"
	"sync"
	"time"
)

// cache stores a bounded number of values until they expire.
type cache[K comparable, V any] struct {
	maxEntries int

	mu struct {
		sync.Mutex
		kept map[K]entry[V]
	}
}

// entry is a value with its expiry.
type entry[V any] struct {
	value   V
	expires time.Time
}

// getUnlessExpired returns the value of a key. ok is false if the key has no value or the value has expired.
func (c *cache[K, V]) getUnlessExpired(key K, now time.Time) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.mu.kept[key]
	return k.value, ok && now.Before(k.expires)
}

// putAndEvictIfFull stores a value for the time ttl. If the cache is full, it first removes the expired
// entries. If there is still no room, it removes arbitrary entries.
func (c *cache[K, V]) putAndEvictIfFull(key K, value V, ttl time.Duration, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.mu.kept) >= c.maxEntries {
		maps.DeleteFunc(c.mu.kept, func(_ K, old entry[V]) bool { return !now.Before(old.expires) })
	}
	for old := range c.mu.kept {
		if len(c.mu.kept) < c.maxEntries {
			break
		}
		delete(c.mu.kept, old)
	}
	if c.mu.kept == nil {
		c.mu.kept = make(map[K]entry[V])
	}
	c.mu.kept[key] = entry[V]{value, now.Add(ttl)}
}
