package pleg

import (
	"context"
	"fmt"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// Run observes the runtime until ctx ends and returns nil once its last
// goroutine has ended. It is called once; a second call returns
// runtime.ErrSecondRun.
//
// The loop itself never waits for the runtime. Listing, inspections and the
// stream are members of one group; each wakes the loop when something is to be
// done. So a call that hangs holds up its own pod, or the next listing, and
// nothing else.
func (p *PLEG) Run(ctx context.Context) error {
	if err := p.enter(running); err != nil {
		return err
	}
	defer p.exit(stopped)
	group := executor.NewGroup(p.executor)
	defer group.Wait()
	if p.features != nil {
		group.Go(func() { p.follow(ctx) })
	}
	for p.beat(ctx, group) == nil {
	}
	return nil
}

// beat starts whatever is due and waits for the next thing to be.
func (p *PLEG) beat(ctx context.Context, group *executor.Group) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	list, until := p.due(p.executor.Now())
	if list {
		group.Go(func() {
			_ = p.list(ctx) // Logged, and kept for Healthy.
			p.wake.Signal()
		})
	}
	for r, number := p.take(); r != nil; r, number = p.take() {
		group.Go(func() {
			p.work(ctx, r, number)
			p.wake.Signal() // A slot is free, and what has failed wants a time.
		})
	}
	if until.IsZero() {
		return p.wake.Wait(ctx)
	}
	_, err := p.wake.WaitUntil(ctx, until)
	return err
}

// due says whether to list now, requeues what has waited long enough, and says
// when to look again; zero is when somebody signals.
func (p *PLEG) due(now time.Time) (list bool, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &p.mu.table
	list, until = p.mu.rhythm.due(now, p.cfg.RelistPeriod, p.cfg.SafetyPeriod)
	if strangers, at := t.strangers.isListDue(now, t.retryGap); !list && !p.mu.rhythm.listing {
		if list = strangers; list {
			p.mu.rhythm.beginList(now)
		} else if !at.IsZero() {
			until = earlierTime(until, at)
		}
	}
	if len(t.later) == 0 {
		return list, until
	}
	t.retryAt = notBeyond(t.retryAt, now, t.retryGap)
	if !now.Before(t.retryAt) {
		t.retryLater()
	} else {
		until = earlierTime(until, t.retryAt)
	}
	return list, until
}

// earlierTime returns the earlier of two times. The first may be zero, which stands for never.
func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// enter begins a Run or a Relist.
func (p *PLEG) enter(next state) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch state := p.mu.state; {
	case state == idle:
		p.mu.state = next
		return nil
	case next == running && state != stepping:
		return fmt.Errorf("pleg: %w", runtime.ErrSecondRun)
	case state == stopped:
		return ErrStopped
	}
	return ErrRunning
}

// exit ends it. Readers that still wait when Run ends would wait for ever.
func (p *PLEG) exit(next state) {
	p.mu.Lock()
	p.mu.state = next
	var left []*waiter
	if next == stopped {
		left = p.mu.table.dismiss()
	}
	p.mu.Unlock()
	for _, w := range left {
		w.latch.Open()
	}
}

// healthyAfter is how long a stream has to stand to count as healthy if no
// event comes.
const healthyAfter = 10 * time.Second

// rhythm knows when the next global listing is due, and how the last ones
// went. The caller holds the lock and gives the time.
type rhythm struct {
	listing   bool
	began     time.Time // the listing in flight
	ended     time.Time // the last one; zero is never
	succeeded time.Time // when the last success began; zero is never
	number    uint64    // of the last success
	err       error     // of the last one

	open   bool      // a stream of events stands
	opened time.Time // since when
	heard  bool      // and an event has come
	mark   uint64    // listings up to this number began before it stood
}

// due reports whether to list now, and otherwise when; zero says that a
// listing is in flight.
func (r *rhythm) due(now time.Time, period, safety time.Duration) (bool, time.Time) {
	if r.listing {
		return false, time.Time{}
	}
	if r.ended.IsZero() {
		r.beginList(now)
		return true, time.Time{}
	}
	if r.streamCovers(now) {
		period = safety
	}
	at := notBeyond(r.ended.Add(period), now, period)
	if now.Before(at) {
		return false, at
	}
	r.beginList(now)
	return true, time.Time{}
}

// notBeyond corrects a time that cannot be later than d from now: the clock
// has been set back since it was computed (I48).
func notBeyond(at, now time.Time, d time.Duration) time.Time {
	if limit := now.Add(d); at.After(limit) {
		return limit
	}
	return at
}

// streamCovers reports whether events make up for listings: the stream is
// healthy, and what happened before it stood has been listed.
func (r *rhythm) streamCovers(now time.Time) bool {
	return r.open && (r.heard || now.Sub(r.opened) >= healthyAfter) && r.err == nil && r.number > r.mark
}

func (r *rhythm) beginList(now time.Time) { r.listing, r.began = true, now }

// listed notes a success. It reports whether the one before had failed.
func (r *rhythm) listed(began, now time.Time, number uint64) (recovered bool) {
	recovered = r.err != nil
	r.listing, r.ended, r.succeeded, r.number, r.err = false, now, began, number, nil
	return recovered
}

// listFailed notes a failure. It reports whether it is the first in a row. A
// nil error is a listing that was cut short, which says nothing.
func (r *rhythm) listFailed(now time.Time, err error) (onset bool) {
	r.listing, r.ended = false, now
	if err == nil {
		return false
	}
	onset = r.err == nil
	r.err = err
	return onset
}

// Healthy implements Snapshot.
func (p *PLEG) Healthy() (bool, error) {
	now := p.executor.Now()
	p.mu.Lock()
	rhythm := p.mu.rhythm
	p.mu.Unlock()
	return rhythm.healthy(now, p.cfg.RelistThreshold)
}

// healthy judges by the age of the last success (B-174). What keeps the next
// one from coming is part of the error.
func (r *rhythm) healthy(now time.Time, threshold time.Duration) (bool, error) {
	age := now.Sub(r.succeeded)
	if !r.succeeded.IsZero() && age <= threshold {
		return true, nil
	}
	stage := "no listing has begun since"
	switch {
	case r.listing:
		stage = fmt.Sprintf("a listing has been under way for %v", now.Sub(r.began))
	case !r.ended.IsZero():
		stage = fmt.Sprintf("a listing ended %v ago", now.Sub(r.ended))
	}
	if r.succeeded.IsZero() {
		return false, withCause(fmt.Sprintf("pleg: no listing has succeeded yet; %s", stage), r.err)
	}
	return false, withCause(fmt.Sprintf("pleg: the last listing that succeeded began %v ago, threshold is %v; %s", age, threshold, stage), r.err)
}

func withCause(sentence string, cause error) error {
	if cause == nil {
		return fmt.Errorf("%s", sentence)
	}
	return fmt.Errorf("%s: %w", sentence, cause)
}
