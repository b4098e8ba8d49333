package review

import (
	"sync"
	"time"
)

// refusalPeriod is the minimum time between two log messages about refused certificates.
const refusalPeriod = 10 * time.Second

// refusals counts the refused certificates between two log messages.
type refusals struct {
	mu struct {
		sync.Mutex
		told time.Time
		more int
	}
}

// countRefusal counts a refused certificate. If a log message is due, it returns true and the number of
// refusals since the last message, and starts counting from zero.
func (r *refusals) countRefusal(now time.Time) (more int, due bool) {
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
