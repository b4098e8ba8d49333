package cri

import (
	"maps"
	"sync"
	"time"
)

const (
	// burst is how many containers of a sandbox are stopped at once, and between
	// lies how long after that each of the others waits for the one before it. All
	// that happens in a sandbox goes through one shim, and those of containerd have
	// been seen to hang for good when they signal and reap 32 at once.
	burst   = 16
	between = 25 * time.Millisecond
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
