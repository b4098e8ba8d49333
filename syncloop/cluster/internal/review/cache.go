package review

import (
	"maps"
	"sync"
	"time"
)

// cache keeps answers for a while, so many at most.
type cache[K comparable, V any] struct {
	most int

	mu struct {
		sync.Mutex
		kept map[K]kept[V]
	}
}

// kept is an answer, until it expires.
type kept[V any] struct {
	value   V
	expires time.Time
}

// get returns what is kept.
func (c *cache[K, V]) get(key K, now time.Time) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.mu.kept[key]
	return k.value, ok && now.Before(k.expires)
}

// put keeps an answer. When there are too many, those that have expired go, and if there are
// none of them, others do.
func (c *cache[K, V]) put(key K, value V, ttl time.Duration, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.mu.kept) >= c.most {
		maps.DeleteFunc(c.mu.kept, func(_ K, old kept[V]) bool { return !now.Before(old.expires) })
	}
	for old := range c.mu.kept {
		if len(c.mu.kept) < c.most {
			break
		}
		delete(c.mu.kept, old)
	}
	if c.mu.kept == nil {
		c.mu.kept = make(map[K]kept[V])
	}
	c.mu.kept[key] = kept[V]{value, now.Add(ttl)}
}
