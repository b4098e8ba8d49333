package cri

import (
	"maps"
	"sync"
	"time"
)

const (
	// burst is how many containers of a sandbox are stopped at once; after that
	// each waits for so long after the one before it as between says. All that
	// happens in a sandbox goes through one shim. That of containerd handles an
	// exit a second once 32 are in its queue, and waits there for the end of
	// processes whose exit is further behind: it takes minutes then to stop what
	// takes milliseconds.
	burst   = 8
	between = 50 * time.Millisecond
)

// pace says when stops may begin.
type pace struct {
	mu   sync.Mutex
	even map[string]time.Time // by sandbox: when its next would, if all came evenly
}

// wait is how long a stop in a sandbox that comes now has to wait.
func (p *pace) wait(sandbox string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.even == nil {
		p.even = map[string]time.Time{}
	}
	maps.DeleteFunc(p.even, func(_ string, at time.Time) bool { return !at.After(now) })
	at, busy := p.even[sandbox]
	if !busy {
		at = now
	}
	p.even[sandbox] = at.Add(between)
	return max(at.Sub(now)-(burst-1)*between, 0)
}
