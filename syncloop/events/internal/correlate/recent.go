package correlate

import (
	"container/list"
	"time"
)

// recentMap is a map that evicts the least recently used value when it is full.
type recentMap[K comparable, V any] struct {
	values map[K]*list.Element
	order  list.List // the least recently used value is first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// getOrMake returns the value of a key, and stores a value from make if there is none. If the map has max
// values, it first evicts the least recently used value that canEvict accepts, if any.
func (r *recentMap[K, V]) getOrMake(k K, max int, make func() V, canEvict func(V) bool) V {
	if e, ok := r.values[k]; ok {
		r.order.MoveToBack(e)
		return e.Value.(entry[K, V]).value
	}
	for e := r.order.Front(); e != nil && len(r.values) >= max; e = e.Next() {
		if old := e.Value.(entry[K, V]); canEvict(old.value) {
			delete(r.values, old.key)
			r.order.Remove(e)
			break
		}
	}
	if r.values == nil {
		r.values = map[K]*list.Element{}
	}
	v := make()
	r.values[k] = r.order.PushBack(entry[K, V]{k, v})
	return v
}

// bucket is a token bucket: it has at most burst tokens and gets one more in each period.
type bucket struct {
	burst  int
	period time.Duration
	full   time.Time // when the bucket is full again; zero: it is full
}

// nextTokenTime returns the time from which the token bucket has a token.
func (b *bucket) nextTokenTime() time.Time { return b.full.Add(-time.Duration(b.burst-1) * b.period) }

// takeToken takes a token from the bucket. It returns false if the bucket is empty.
func (b *bucket) takeToken(now time.Time) (taken bool) {
	if b.nextTokenTime().After(now) {
		return false
	}
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.period)
	return true
}
