package review

import (
	"sync"
	"time"
)

// refusalPeriod is for how long at least no other refusal is told after one.
const refusalPeriod = 10 * time.Second

// refusals counts those that are not told.
type refusals struct {
	mu struct {
		sync.Mutex
		told time.Time
		more int
	}
}

// note counts a refusal. due: it is to be told, and so many more that were not.
func (r *refusals) note(now time.Time) (more int, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.mu.told.IsZero() && now.Sub(r.mu.told) < refusalPeriod {
		r.mu.more++
		return 0, false
	}
	more = r.mu.more
	r.mu.told, r.mu.more = now, 0
	return more, true
}
