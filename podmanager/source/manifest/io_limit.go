package manifest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errTimeout means that a call to the system has not returned in time.
var errTimeout = errors.New("it takes too long")

// maxConcurrentCalls is how many calls run at once.
const maxConcurrentCalls = 8

// ioLimit makes calls that may block for ever, each in its own goroutine, and waits for each with a time limit (F36). A
// call that does not return keeps its goroutine, and the next scan checks for its result. There is at most one call for
// each key, so a hung mount costs one goroutine for each file. An ioLimit is used by one scan at a time.
type ioLimit struct {
	limit      time.Duration
	pending    map[string]*pendingCall
	batchStart time.Time // when this batch started
	timeouts   int       // calls of this batch that did not return in time
}

// pendingCall is a call that was started.
type pendingCall struct {
	key     string
	started time.Time
	result  chan callResult
}

// callResult is what a call returned.
type callResult struct {
	value any
	err   error
}

// newIOLimit returns an ioLimit with this time limit for each call.
func newIOLimit(limit time.Duration) *ioLimit {
	return &ioLimit{limit: limit, pending: map[string]*pendingCall{}}
}

// runWithLimitUnlessPending runs f in a goroutine and returns its result. After the time limit it returns
// errTimeout. If an earlier call with this key has not returned, it does not run f, and waits for the earlier
// call instead.
func (p *ioLimit) runWithLimitUnlessPending(ctx context.Context, key string, f func() (any, error)) (any, error) {
	a := p.waitForCall(ctx, p.startCallUnlessPending(key, f))
	return a.value, a.err
}

// runEach calls f for every key, up to maxConcurrentCalls at once, and passes the results to handle in the
// order of the keys. A call that exceeds the time limit has the result errTimeout. It returns early only if ctx
// is done.
func (p *ioLimit) runEach(ctx context.Context, keys []string, f func(key string) (any, error), handle func(key string, value any, err error)) error {
	p.batchStart, p.timeouts = time.Now(), 0
	var window []*pendingCall
	for next := 0; next < len(keys) || len(window) > 0; {
		for ; next < len(keys) && len(window) < maxConcurrentCalls; next++ {
			key := keys[next]
			window = append(window, p.startCallUnlessPending(key, func() (any, error) { return f(key) }))
		}
		a := p.waitForCall(ctx, window[0])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		handle(window[0].key, a.value, a.err)
		window = window[1:]
	}
	return nil
}

// startCallUnlessPending starts f in a goroutine and returns the pending call. If an earlier call for this key
// has not returned, it returns that call and does not start f.
func (p *ioLimit) startCallUnlessPending(key string, f func() (any, error)) *pendingCall {
	if c, ok := p.pending[key]; ok {
		return c
	}
	c := &pendingCall{key: key, started: time.Now(), result: make(chan callResult, 1)}
	p.pending[key] = c
	go func() { c.result <- callRecovering(f) }()
	return c
}

// pendingKeys returns the keys of the calls that have not returned, or whose results were not used.
func (p *ioLimit) pendingKeys() map[string]bool {
	keys := make(map[string]bool, len(p.pending))
	for key := range p.pending {
		keys[key] = true
	}
	return keys
}

// callRecovering calls f and returns its result. A panic of f, which may call an fs.FS of the embedder, becomes
// an error.
func callRecovering(f func() (any, error)) (a callResult) {
	defer func() {
		if v := recover(); v != nil {
			a = callResult{err: fmt.Errorf("panic: %v", v)}
		}
	}()
	value, err := f()
	return callResult{value, err}
}

// waitForCall returns the result of a call. After the time limit it returns errTimeout, and after the end of
// ctx the error of ctx. A call that has timed out stays pending, and no new call with its key starts before it
// returns. It counts each timeout of a call that this runEach started.
func (p *ioLimit) waitForCall(ctx context.Context, c *pendingCall) callResult {
	select {
	case a := <-c.result:
		delete(p.pending, c.key)
		return a
	default:
	}
	timer := time.NewTimer(p.remainingOrReducedLimit(c)) // The time of a call of an earlier batch is already over.
	defer timer.Stop()
	select {
	case a := <-c.result:
		delete(p.pending, c.key)
		return a
	case <-timer.C:
		if !c.started.Before(p.batchStart) {
			p.timeouts++
		}
		return callResult{err: errTimeout}
	case <-ctx.Done():
		return callResult{err: ctx.Err()}
	}
}

// remainingOrReducedLimit returns how much longer to wait for a call; the result may be negative. If
// maxConcurrentCalls calls of the present runEach have timed out, the time limit is reduced to a fiftieth. With
// the whole limit, a thousand files that block would delay a good file by an hour.
func (p *ioLimit) remainingOrReducedLimit(c *pendingCall) time.Duration {
	limit := p.limit
	if p.timeouts >= maxConcurrentCalls {
		limit /= 50
	}
	return limit - time.Since(c.started)
}
