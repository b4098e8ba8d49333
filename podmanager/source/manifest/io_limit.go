package manifest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errSlow is a call to the system that has not returned in time.
var errSlow = errors.New("it takes too long")

// readers is how many calls are made at once.
const readers = 8

// ioLimit makes calls that may block for ever, each in a goroutine of its own,
// with a bound on the wait for it (F36). A call that does not return is left
// alone, and its result is looked for the next time: never two at once for one
// key, so a hung mount costs one goroutine for each file and no more. It
// belongs to one scan at a time.
type ioLimit struct {
	limit   time.Duration
	pending map[string]*call
	since   time.Time // when this batch began
	late    int       // calls of this batch given up
}

// call is one call under way.
type call struct {
	key    string
	began  time.Time
	result chan answer
}

// answer is what a call returns: content, names, or whatever was asked for.
type answer struct {
	value any
	err   error
}

func newIOLimit(limit time.Duration) *ioLimit {
	return &ioLimit{limit: limit, pending: map[string]*call{}}
}

// ask makes one call and waits for it.
func (p *ioLimit) ask(ctx context.Context, key string, f func() (any, error)) (any, error) {
	a := p.wait(ctx, p.begin(key, f))
	return a.value, a.err
}

// each makes a call for every key, several at once, and hands on the answers in
// order. It returns early only when the context ends.
func (p *ioLimit) each(ctx context.Context, keys []string, f func(key string) (any, error), got func(key string, value any, err error)) error {
	p.since, p.late = time.Now(), 0
	var window []*call
	for next := 0; next < len(keys) || len(window) > 0; {
		for ; next < len(keys) && len(window) < readers; next++ {
			key := keys[next]
			window = append(window, p.begin(key, func() (any, error) { return f(key) }))
		}
		a := p.wait(ctx, window[0])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		got(window[0].key, a.value, a.err)
		window = window[1:]
	}
	return nil
}

// begin makes the call, unless the last one for this key has not returned.
func (p *ioLimit) begin(key string, f func() (any, error)) *call {
	if c, ok := p.pending[key]; ok {
		return c
	}
	c := &call{key: key, began: time.Now(), result: make(chan answer, 1)}
	p.pending[key] = c
	go func() { c.result <- safely(f) }()
	return c
}

// safely contains a panic of a file system somebody gave us.
func safely(f func() (any, error)) (a answer) {
	defer func() {
		if v := recover(); v != nil {
			a = answer{err: fmt.Errorf("panic: %v", v)}
		}
	}()
	value, err := f()
	return answer{value, err}
}

// wait waits for a call, until its time limit.
func (p *ioLimit) wait(ctx context.Context, c *call) answer {
	select {
	case a := <-c.result:
		delete(p.pending, c.key)
		return a
	default:
	}
	timer := time.NewTimer(p.left(c)) // At once for one that was given up before.
	defer timer.Stop()
	select {
	case a := <-c.result:
		delete(p.pending, c.key)
		return a
	case <-timer.C:
		if !c.began.Before(p.since) {
			p.late++
		}
		return answer{err: errSlow}
	case <-ctx.Done():
		return answer{err: ctx.Err()}
	}
}

// left is how long to wait for a call. When one batch has hung, the next ones
// are likely to, and get a fraction: a thousand hung files must not hold up the
// one that is fine for an hour.
func (p *ioLimit) left(c *call) time.Duration {
	limit := p.limit
	if p.late >= readers {
		limit /= 50
	}
	return limit - time.Since(c.began)
}
