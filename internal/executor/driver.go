package executor

import (
	"context"
	"errors"
	"time"
)

var errNothingLeft = errors.New("executor: nothing is left in the simulation that could happen")

// driverLimit is for how much virtual time waits of the driver go on, one after
// another: a loop over what comes would else go on for ever.
const driverLimit = 24 * time.Hour

// LetDriverWait lets the driver, who is no coroutine, wait too: its wait runs the
// simulation until what it waits for has come. If nothing can bring that any
// more, or such waits alone have let a day of virtual time pass, hopeless is
// called with the reason, by the driver; where it returns the wait fails with the
// reason. Without LetDriverWait a wait of the driver is a panic.
func (s *Scheduler) LetDriverWait(hopeless func(reason error)) { s.hopeless = hopeless }

// driverMayWait reports whether the caller is the driver, and may wait.
func (p *Process) driverMayWait() bool {
	return p.s.current == nil && !p.crashed && p.s.hopeless != nil
}

// driverWaits is a wait of the driver: until over, the end of ctx, a crash, or
// the time due unless that is zero.
func (p *Process) driverWaits(ctx context.Context, due time.Time, over func() bool) error {
	waiting := func() bool {
		return !over() && ctx.Err() == nil && !p.crashed && (due.IsZero() || p.s.now.Before(due))
	}
	if p.s.waitsSince.IsZero() {
		p.s.waitsSince = p.s.now
	}
	var err error
	p.s.guarded(func() {
		if !due.IsZero() {
			p.s.runTo(due, waiting)
			return
		}
		err = p.s.runWhile(p.s.waitsSince.Add(driverLimit), waiting)
	})
	if err != nil {
		p.s.hopeless(err)
		return err
	}
	switch {
	case p.crashed:
		return ErrCrashed
	case over():
		return nil
	}
	return ctx.Err()
}

// runTo is runWhile to a time that comes in any case.
func (s *Scheduler) runTo(due time.Time, waiting func() bool) {
	for waiting() {
		if s.step() {
			continue
		}
		next, ok := s.Next()
		if !ok || next.After(due) {
			next = due
		}
		s.AdvanceTo(next)
	}
}

// driven runs f for a driver that drives, and does not wait.
func (s *Scheduler) driven(f func()) {
	s.waitsSince = time.Time{}
	s.guarded(f)
}

type turnKey struct{}

// Into returns a context in which From finds t.
func Into(ctx context.Context, t Executor) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

// From returns the seam that Into has put into a context, or into one that it is
// derived from; without any it is the production half on the real clock.
func From(ctx context.Context) Executor {
	if t, ok := ctx.Value(turnKey{}).(Executor); ok {
		return t
	}
	return Over(nil)
}
