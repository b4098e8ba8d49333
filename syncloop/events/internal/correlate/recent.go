package correlate

import (
	"container/list"
	"time"
)

// recent is a map of the values that were used last.
type recent[K comparable, V any] struct {
	values map[K]*list.Element
	order  list.List // the one that was not used for longest is first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// get returns the value of a key, which make makes if there is none. If there are max, the
// first one goes that may.
func (r *recent[K, V]) get(k K, max int, make func() V, mayGo func(V) bool) V {
	if e, ok := r.values[k]; ok {
		r.order.MoveToBack(e)
		return e.Value.(entry[K, V]).value
	}
	for e := r.order.Front(); e != nil && len(r.values) >= max; e = e.Next() {
		if old := e.Value.(entry[K, V]); mayGo(old.value) {
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

// next is when it has a token.
func (b *bucket) next() time.Time { return b.full.Add(-time.Duration(b.burst-1) * b.period) }

// take takes a token, if it has one.
func (b *bucket) take(now time.Time) bool {
	if b.next().After(now) {
		return false
	}
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.period)
	return true
}
