package executor

import (
	"bytes"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

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
	timer := time.NewTimer(g.limit)
	defer timer.Stop()
	for seen := g.steps.Load(); ; {
		select {
		case <-r.ended:
			return true
		case <-timer.C:
		}
		now := g.steps.Load()
		if now == seen {
			return false
		}
		seen = now
		timer.Reset(g.limit)
	}
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
