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

// errNothingLeft is the reason if no coroutine is ready and no timer is set while the driver waits.
var errNothingLeft = errors.New("executor: no coroutine is ready and no timer is set, so nothing can end the wait")

// driverLimit is how much virtual time consecutive waits of the driver may take before a wait without
// a time limit fails. Without it a loop that waits for something impossible would never end.
const driverLimit = 24 * time.Hour

// LetDriverWait allows the driver, which is not a coroutine, to wait: its wait runs the simulation
// until the wait is over. A wait without a time limit fails if nothing can end it, or when
// consecutive waits of the driver have taken a day of virtual time. The driver then calls
// onHopelessWait with the reason, and the wait returns the reason if onHopelessWait returns. A wait
// with a time limit, such as Sleep, always ends. Without LetDriverWait a wait of the driver panics.
func (s *Scheduler) LetDriverWait(onHopelessWait func(reason error)) {
	s.onHopelessWait = onHopelessWait
}

// driverMayWait reports whether the caller may wait as the driver, the goroutine that steps the simulation: no
// coroutine runs now, the process has not crashed, and LetDriverWait was called.
func (p *Process) driverMayWait() bool {
	return p.s.current == nil && !p.crashed && p.s.onHopelessWait != nil
}

// driverWait lets the driver (the goroutine that steps the simulation) wait: it runs the simulation until
// isOver returns true, ctx ends, the process crashes, or the time until arrives. A zero until is no limit. If
// nothing in the simulation can end the wait, it calls onHopelessWait and returns the reason.
func (p *Process) driverWait(ctx context.Context, until time.Time, isOver func() bool) error {
	waiting := func() bool {
		return !isOver() && ctx.Err() == nil && !p.crashed && (until.IsZero() || p.s.now.Before(until))
	}
	if p.s.driverWaitsSince.IsZero() {
		p.s.driverWaitsSince = p.s.now
	}
	var err error
	p.s.runGuarded(func() {
		if !until.IsZero() {
			p.s.runUntilOrOver(until, waiting)
			return
		}
		err = p.s.runWhile(p.s.driverWaitsSince.Add(driverLimit), waiting)
	})
	if err != nil {
		p.s.onHopelessWait(err)
		return err
	}
	switch {
	case p.crashed:
		return ErrCrashed
	case isOver():
		return nil
	}
	return ctx.Err()
}

// runUntilOrOver runs the simulation and advances its clock, at most to due, while waiting returns true.
// waiting must return false at due. Unlike runWhile it advances the clock to due even if no timer is set.
func (s *Scheduler) runUntilOrOver(due time.Time, waiting func() bool) {
	for waiting() {
		if s.stepRandomCoroutine() {
			continue
		}
		next, ok := s.NextTimer()
		if !ok || next.After(due) {
			next = due
		}
		s.AdvanceTo(next)
	}
}

// markDriverActiveAndRun records that the driver (the goroutine that steps the simulation) does not wait any
// longer, and runs f, which steps the simulation. It panics if no step begins within the simulation's limit of
// real time.
func (s *Scheduler) markDriverActiveAndRun(f func()) {
	s.driverWaitsSince = time.Time{}
	s.runGuarded(f)
}

type executorKey struct{}

// Into returns a context that carries exec for From.
func Into(ctx context.Context, exec Executor) context.Context {
	return context.WithValue(ctx, executorKey{}, exec)
}

// From returns the executor that Into has put into ctx or a parent of it. Without one it returns
// the production implementation on the real clock, and no error. In a simulation a missing Into
// therefore makes the caller wait in real time, which blocks the thread (see Guard).
func From(ctx context.Context) Executor {
	if exec, ok := ctx.Value(executorKey{}).(Executor); ok {
		return exec
	}
	return Over(nil)
}

// guard detects a simulation whose thread is blocked: a program that waits for something outside
// the simulation blocks it for ever.
type guard struct {
	limit      time.Duration
	stalled    func(stack string)
	running    bool          // the thread is already running under this guard
	steps      atomic.Uint64 // number of steps that have begun
	stalledRun *guardedRun   // the run that was given up; nil: none
}

// Guard limits every further step to a duration in real time. If a step takes longer, the driver
// calls stalled with the stack of the blocked coroutine. stalled must not return, because the
// simulation cannot continue; Stalled returns true from then on. Guard is called before the first
// step.
func (s *Scheduler) Guard(limit time.Duration, stalled func(stack string)) {
	s.guard.limit, s.guard.stalled = limit, stalled
}

// Stalled reports whether a step has blocked the thread for ever.
func (s *Scheduler) Stalled() bool { return s.guard.stalledRun != nil }

// Resume waits until the blocked step continues, and makes the scheduler usable again. It is for
// tests of Guard.
func (s *Scheduler) Resume() {
	<-s.guard.stalledRun.ended
	s.guard.stalledRun, s.guard.running = nil, false
}

// runGuarded runs f, which steps the simulation, in another goroutine and waits for it. If no step begins
// within the guard's limit of real time, it calls guard.stalled and panics. It repeats a panic or a Goexit of
// f. Without a limit, or inside another runGuarded, it just calls f.
func (s *Scheduler) runGuarded(f func()) {
	g := &s.guard
	if g.stalledRun != nil {
		g.stalled("")
		panic("executor: an earlier step still blocks the simulation")
	}
	if g.limit == 0 || g.running {
		f()
		return
	}
	g.running = true
	r := guardedRun{ended: make(chan struct{})}
	go r.runAndRecover(f)
	if !g.waitForEndOrStall(&r) {
		g.stalledRun = &r
		g.stalled(stackOfBlockedCoroutine())
		panic("executor: the simulation waits for something outside it")
	}
	g.running = false
	r.repanicOrGoexit()
}

// waitForEndOrStall waits until a run has ended, and returns true. It returns false if no step of the simulation
// begins within the guard's limit of real time.
func (g *guard) waitForEndOrStall(r *guardedRun) (ended bool) {
	const looks = 8 // checks within the limit, so that a stall is detected soon after it
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

// guardedRun is one run of the simulation's thread, with its result.
type guardedRun struct {
	ended    chan struct{}
	returned bool
	panicked *Panicked
}

// runAndRecover calls f and closes r.ended. It stores a panic of f, or records that f has returned.
func (r *guardedRun) runAndRecover(f func()) {
	defer close(r.ended)
	defer func() {
		if v := recover(); v != nil {
			r.panicked = toPanicked(v)
		}
	}()
	f()
	r.returned = true
}

// repanicOrGoexit panics with the panic that the run has stored. It calls runtime.Goexit if the run neither
// panicked nor returned. It does nothing if the run has returned.
func (r *guardedRun) repanicOrGoexit() {
	switch {
	case r.panicked != nil:
		panic(r.panicked)
	case !r.returned:
		runtime.Goexit() // A coroutine has failed the test.
	}
}

// stackOfBlockedCoroutine returns the stack of the coroutine that blocks the simulation, or "" if none does. A
// coroutine blocks the simulation if it is not parked.
func stackOfBlockedCoroutine() string {
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

// RunWhile runs the simulation while waiting returns true, at most until a time. waiting is called
// before each step. RunWhile returns an error if nothing can happen any longer, or the time has
// come, while waiting still returns true.
func (s *Scheduler) RunWhile(until time.Time, waiting func() bool) (err error) {
	s.markDriverActiveAndRun(func() { err = s.runWhile(until, waiting) })
	return err
}

// runWhile runs the simulation as long as waiting returns true. When no coroutine can run, it advances the
// clock to the next timer. It returns nil when waiting returns false. It returns an error if no timer is left,
// or when the time until arrives.
func (s *Scheduler) runWhile(until time.Time, waiting func() bool) error {
	for waiting() {
		if s.stepRandomCoroutine() {
			continue
		}
		switch next, ok := s.NextTimer(); {
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
