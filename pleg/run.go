package pleg

import (
	"context"
	"fmt"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// Run observes the runtime until ctx ends and returns nil once its last goroutine has ended. It is
// called once; a second call returns runtime.ErrSecondRun.
//
// The loop itself never waits for the runtime. The listing, the inspections and the stream are
// goroutines of one group, and each wakes the loop when there is work. So a hanging call delays
// only its own pod, or the next listing.
func (p *PLEG) Run(ctx context.Context) error {
	if err := p.beginRun(running); err != nil {
		return err
	}
	defer p.setStateAndStopWaitersIfStopped(stopped)
	group := executor.NewGroup(p.executor)
	defer group.Wait()
	if p.features != nil {
		group.Go(func() { p.keepStreamOpen(ctx) })
	}
	for p.runOnce(ctx, group) == nil {
	}
	return nil
}

// runOnce starts, in goroutines, the listing and the inspections that are due. It then waits until the next one
// is due or the loop is woken. It returns an error when ctx has ended.
func (p *PLEG) runOnce(ctx context.Context, group *executor.Group) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	list, until := p.beginDueListAndRetries(p.executor.Now())
	if list {
		group.Go(func() {
			_ = p.listPods(ctx) // The error is logged, and Healthy returns it.
			p.wake.Signal()
		})
	}
	for r, number := p.startNextInspection(); r != nil; r, number = p.startNextInspection() {
		group.Go(func() {
			p.inspectPodThenQueue(ctx, r, number)
			p.wake.Signal() // A slot is free, and a failed pod needs a retry time.
		})
	}
	if until.IsZero() {
		return p.wake.Wait(ctx)
	}
	_, err := p.wake.WaitUntil(ctx, until)
	return err
}

// beginDueListAndRetries records a listing as begun and returns true if one is due; the caller must list. It
// requests the inspections whose retry is due. nextRun is when the loop must run again, or zero if it must run
// only when it is woken.
func (p *PLEG) beginDueListAndRetries(now time.Time) (shouldList bool, nextRun time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &p.mu.table
	shouldList, nextRun = p.mu.schedule.beginListIfDue(now, p.cfg.RelistPeriod, p.cfg.SafetyPeriod)
	if extra, at := t.unknownPods.isExtraListDue(now, t.retryDelay); !shouldList && !p.mu.schedule.inFlight {
		if shouldList = extra; shouldList {
			p.mu.schedule.recordListBegin(now)
		} else if !at.IsZero() {
			nextRun = earlierTime(nextRun, at)
		}
	}
	if len(t.retryQueue) == 0 {
		return shouldList, nextRun
	}
	t.retryAt = limitAfterClockStep(t.retryAt, now, t.retryDelay)
	if !now.Before(t.retryAt) {
		t.requestRetries()
	} else {
		nextRun = earlierTime(nextRun, t.retryAt)
	}
	return shouldList, nextRun
}

// earlierTime returns the earlier of two times. If a is zero, which stands for never, it returns b.
func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// beginRun sets the state to next for Run or Relist. It returns an error and leaves the state unchanged if the
// PLEG is running, executes a Relist, or has stopped.
func (p *PLEG) beginRun(next state) error {
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

// setStateAndStopWaitersIfStopped sets the state after Run or Relist has finished. If that state is stopped, it also
// releases all waiting readers with ErrStopped.
func (p *PLEG) setStateAndStopWaitersIfStopped(next state) {
	p.mu.Lock()
	p.mu.state = next
	var left []*waiter
	if next == stopped {
		left = p.mu.table.stopWaiters()
	}
	p.mu.Unlock()
	for _, w := range left {
		w.latch.Open()
	}
}

// streamTrustedAfter is how long a stream without events must be open before the PLEG trusts it to
// deliver events.
const streamTrustedAfter = 10 * time.Second

// listSchedule decides when the next listing is due. It stores the result of the last one and the
// state of the event stream. The caller holds the lock and passes the time.
type listSchedule struct {
	inFlight  bool      // a listing is running
	began     time.Time // when the running listing began
	ended     time.Time // when the last listing ended; zero: never
	succeeded time.Time // when the last successful listing began; zero: never
	number    uint64    // of the last successful listing
	err       error     // of the last listing

	streamOpen     bool      // an event stream is open
	streamOpenedAt time.Time // when it was opened
	eventReceived  bool      // the stream has delivered an event
	streamListMark uint64    // newest observation when the stream was opened: only a later listing covers the time before
}

// beginListIfDue records that a listing begins and returns true, if a listing is due. If none is due, it
// returns false and the time of the next listing. That time is zero while a listing is in flight. If the event
// stream makes frequent listings unnecessary, the period between listings is safety.
func (r *listSchedule) beginListIfDue(now time.Time, period, safety time.Duration) (due bool, next time.Time) {
	if r.inFlight {
		return false, time.Time{}
	}
	if r.ended.IsZero() {
		r.recordListBegin(now)
		return true, time.Time{}
	}
	if r.isStreamSufficient(now) {
		period = safety
	}
	at := limitAfterClockStep(r.ended.Add(period), now, period)
	if now.Before(at) {
		return false, at
	}
	r.recordListBegin(now)
	return true, time.Time{}
}

// limitAfterClockStep returns at, or now+d if at is later. A time that far ahead was computed before the clock
// was set back (I48).
func limitAfterClockStep(at, now time.Time, d time.Duration) time.Time {
	if limit := now.Add(d); at.After(limit) {
		return limit
	}
	return at
}

// isStreamSufficient reports whether events can replace frequent listings. The open stream must have delivered
// an event or be open for streamTrustedAfter. The last listing must have succeeded and must have begun after
// the stream was opened.
func (r *listSchedule) isStreamSufficient(now time.Time) bool {
	return r.streamOpen && (r.eventReceived || now.Sub(r.streamOpenedAt) >= streamTrustedAfter) && r.err == nil && r.number > r.streamListMark
}

// recordListBegin records that a listing of the runtime is in progress since now.
func (r *listSchedule) recordListBegin(now time.Time) { r.inFlight, r.began = true, now }

// recordSuccess records a successful listing, which began at began, ended at now and has the given sequence
// number. It reports whether the previous listing had failed.
func (r *listSchedule) recordSuccess(began, now time.Time, number uint64) (recovered bool) {
	recovered = r.err != nil
	r.inFlight, r.ended, r.succeeded, r.number, r.err = false, now, began, number, nil
	return recovered
}

// recordFailure records that a listing ended with err, and reports whether it is the first failure in a row. A
// nil err means that the listing was cancelled: only its end is recorded.
func (r *listSchedule) recordFailure(now time.Time, err error) (firstFailure bool) {
	r.inFlight, r.ended = false, now
	if err == nil {
		return false
	}
	firstFailure = r.err == nil
	r.err = err
	return firstFailure
}

// Healthy implements Snapshot.
func (p *PLEG) Healthy() (bool, error) {
	now := p.executor.Now()
	p.mu.Lock()
	schedule := p.mu.schedule
	p.mu.Unlock()
	return schedule.checkLastListing(now, p.cfg.RelistThreshold)
}

// checkLastListing returns true and nil if the last successful listing began at most threshold ago. Otherwise it
// returns false and an error. The error says how long ago that listing began, or that none has succeeded. It also
// says whether a listing is running, and why the last one failed (B-174).
func (r *listSchedule) checkLastListing(now time.Time, threshold time.Duration) (healthy bool, err error) {
	age := now.Sub(r.succeeded)
	if !r.succeeded.IsZero() && age <= threshold {
		return true, nil
	}
	stage := "no listing has begun since"
	switch {
	case r.inFlight:
		stage = fmt.Sprintf("a listing has been under way for %v", now.Sub(r.began))
	case !r.ended.IsZero():
		stage = fmt.Sprintf("a listing ended %v ago", now.Sub(r.ended))
	}
	if r.succeeded.IsZero() {
		return false, withCause(fmt.Sprintf("pleg: no listing has succeeded yet; %s", stage), r.err)
	}
	return false, withCause(fmt.Sprintf("pleg: the last listing that succeeded began %v ago, threshold is %v; %s", age, threshold, stage), r.err)
}

// withCause returns an error with the text sentence. If cause is not nil, it is appended and wrapped.
func withCause(sentence string, cause error) error {
	if cause == nil {
		return fmt.Errorf("%s", sentence)
	}
	return fmt.Errorf("%s: %w", sentence, cause)
}
