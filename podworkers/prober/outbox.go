package prober

import "sync"

// outbox hands results over, in order and one at a time, without a lock held
// and without a goroutine of its own: whoever finds nobody at it delivers, also
// what others add meanwhile. A result that is added from within a delivery
// waits for its turn there.
type outbox struct {
	mu struct {
		sync.Mutex
		waiting []Result
		busy    bool
	}
}

// add is called under the prober's lock, which is what orders the results.
func (o *outbox) add(r Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.waiting = append(o.mu.waiting, r)
}

// deliver tells everything that waits, unless somebody is doing so.
func (o *outbox) deliver(tell func(Result)) {
	for mine := false; ; mine = true {
		r, ok := o.next(mine)
		if !ok {
			return
		}
		tell(r)
	}
}

// next takes the oldest result. mine says that the caller is the one who is
// delivering.
func (o *outbox) next(mine bool) (Result, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.busy && !mine {
		return Result{}, false
	}
	if len(o.mu.waiting) == 0 {
		o.mu.busy, o.mu.waiting = false, nil
		return Result{}, false
	}
	o.mu.busy = true
	r := o.mu.waiting[0]
	o.mu.waiting = o.mu.waiting[1:]
	return r, true
}

// tell gives one result to whoever wants it. A panic there concerns this result
// only.
func (p *Prober) tell(r Result) {
	if p.cfg.Result != nil {
		p.cfg.Result(r)
	}
}
