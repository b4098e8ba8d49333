package correlate

import (
	"container/list"
	"time"
)

// recentMap is a map of the values that were used last.
type recentMap[K comparable, V any] struct {
	values map[K]*list.Element
	order  list.List // the one that was not used for longest is first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// getOrMake returns the value of a key, which make makes if there is none. If there are max, the
// first one goes that may.
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

// bucket has tokens: burst at most, and one more in each period.
type bucket struct {
	burst  int
	period time.Duration
	full   time.Time // when it is full again; zero: it is
}

// nextToken is when it has a token.
func (b *bucket) nextToken() time.Time { return b.full.Add(-time.Duration(b.burst-1) * b.period) }

// takeToken takes a token, if it has one.
func (b *bucket) takeToken(now time.Time) bool {
	if b.nextToken().After(now) {
		return false
	}
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.period)
	return true
}
