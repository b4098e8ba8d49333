package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
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

// guard watches over the thread of a simulation from outside: a program that
// waits for something real stops it for ever.
type guard struct {
	limit   time.Duration
	stalled func(stack string)
	inside  bool          // the thread runs already, under the same watch
	steps   atomic.Uint64 // that have begun
	dead    *driven       // the drive that has been given up; nil: none has
}

// Guard watches over every step from now on: if one has not ended after limit,
// in real time, stalled is called with the stack of what has stopped the thread,
// by the goroutine that drives. It must not return, as there is no way to go on:
// the scheduler can do nothing any more, and says so in Stalled. It is called
// before the first step.
func (s *Scheduler) Guard(limit time.Duration, stalled func(stack string)) {
	s.guard.limit, s.guard.stalled = limit, stalled
}

// Stalled reports whether a step has stopped the thread for good.
func (s *Scheduler) Stalled() bool { return s.guard.dead != nil }

// Resume waits until what has stopped the thread lets it go, and has the
// scheduler go on: for tests of what Guard does.
func (s *Scheduler) Resume() {
	<-s.guard.dead.ended
	s.guard.dead, s.guard.inside = nil, false
}

// guarded runs f, which drives the simulation, in a goroutine of its own, so
// that the caller can go away if it never ends. A panic or an end of the
// goroutine is passed on to the caller.
func (s *Scheduler) guarded(f func()) {
	g := &s.guard
	if g.dead != nil {
		g.stalled("")
		panic("executor: the simulation has been stopped by something that it waits for")
	}
	if g.limit == 0 || g.inside {
		f()
		return
	}
	g.inside = true
	r := driven{ended: make(chan struct{})}
	go r.run(f)
	if !g.await(&r) {
		g.dead = &r
		g.stalled(blockedStack())
		panic("executor: the simulation waits for something outside it")
	}
	g.inside = false
	r.passOn()
}

// await waits for the end of a drive as long as there are steps.
func (g *guard) await(r *driven) bool {
	const looks = 8 // within the limit, so that a stall is found soon after it
	ticker := time.NewTicker(max(g.limit/looks, 1))
	defer ticker.Stop()
	seen, still := g.steps.Load(), 0
	for still < looks {
		select {
		case <-r.ended:
			return true
		case <-ticker.C:
		}
		still++
		if now := g.steps.Load(); now != seen {
			seen, still = now, 0
		}
	}
	return false
}

// driven is one run of the thread, and how it ended.
type driven struct {
	ended    chan struct{}
	returned bool
	panicked *Panicked
}

func (r *driven) run(f func()) {
	defer close(r.ended)
	defer func() {
		if v := recover(); v != nil {
			r.panicked = panicked(v)
		}
	}()
	f()
	r.returned = true
}

// passOn ends the caller as the drive has ended.
func (r *driven) passOn() {
	switch {
	case r.panicked != nil:
		panic(r.panicked)
	case !r.returned:
		runtime.Goexit() // A coroutine has failed the test.
	}
}

// blockedStack is the stack of the coroutine that has the thread: the one that
// is not parked.
func blockedStack() string {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	for g := range bytes.SplitSeq(all, []byte("\n\n")) {
		head, _, _ := bytes.Cut(g, []byte("\n"))
		if bytes.Contains(g, []byte("executor.newCoroutine")) && !bytes.Contains(head, []byte("[coroutine")) {
			return string(g)
		}
	}
	return ""
}

// RunWhile runs the simulation as long as waiting reports true, which is asked
// before each step, and not beyond the time until. It returns an error if
// nothing can happen any more while waiting is still true, or until has passed.
func (s *Scheduler) RunWhile(until time.Time, waiting func() bool) (err error) {
	s.driven(func() { err = s.runWhile(until, waiting) })
	return err
}

func (s *Scheduler) runWhile(until time.Time, waiting func() bool) error {
	for waiting() {
		if s.step() {
			continue
		}
		switch next, ok := s.Next(); {
		case !ok:
			return errNothingLeft
		case next.After(until):
			if until.After(s.now) {
				s.AdvanceTo(until)
				continue
			}
			return fmt.Errorf("executor: it is %s, and what is waited for has not happened", s.now.Format(time.RFC3339))
		default:
			s.AdvanceTo(next)
		}
	}
	return nil
}
