package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// Group runs functions concurrently and waits for all of them. Use NewGroup to make one.
type Group struct {
	exec Executor
	mu   struct {
		sync.Mutex
		running int
		waiters []Latch
	}
}

// NewGroup returns an empty group.
func NewGroup(exec Executor) *Group { return &Group{exec: exec} }

// Go runs f concurrently as a member of the group.
func (g *Group) Go(f func()) {
	g.mu.Lock()
	g.mu.running++
	g.mu.Unlock()
	g.exec.Go(func() {
		defer g.recordMemberEndAndOpenLatches()
		f()
	})
}

// Wait returns when no member is running. In a crashed process it returns at once. The members that the
// waiting coroutine has started are younger than it, so they have already returned.
func (g *Group) Wait() {
	if all := g.newDoneLatchIfRunning(); all != nil {
		_ = all.Wait(context.Background()) // It fails only in a crash, after which no coroutine runs.
	}
}

// WaitUntil is Wait with a time limit, for members that call code which may not return. It reports
// whether no member is running; members that still run are left behind.
func (g *Group) WaitUntil(t time.Time) bool {
	all := g.newDoneLatchIfRunning()
	if all == nil {
		return true
	}
	ctx, cancel := g.exec.WithDeadline(context.Background(), t)
	defer cancel()
	return !errors.Is(all.Wait(ctx), context.DeadlineExceeded)
}

// newDoneLatchIfRunning returns a latch that opens when no member of the group is running. It returns nil if none is
// running now.
func (g *Group) newDoneLatchIfRunning() Latch {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.running == 0 {
		return nil
	}
	all := g.exec.NewLatch()
	g.mu.waiters = append(g.mu.waiters, all)
	return all
}

// recordMemberEndAndOpenLatches records the end of one member. After the last running member it opens the
// latches that newDoneLatchIfRunning has returned.
func (g *Group) recordMemberEndAndOpenLatches() {
	g.mu.Lock()
	g.mu.running--
	var waiters []Latch
	if g.mu.running == 0 {
		waiters, g.mu.waiters = g.mu.waiters, nil
	}
	g.mu.Unlock()
	for _, w := range waiters {
		w.Open()
	}
}

// Panicked is an error that carries a panic to the place where it is raised again: from a call of
// Each to Each's caller, from a coroutine to the driver of its simulation.
type Panicked struct {
	Value any    // the value of the panic
	Stack []byte // the stack at the panic
}

// Error returns the value and the stack. Go prints it if the panic is not recovered.
func (p *Panicked) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value if it is an error.
func (p *Panicked) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// toPanicked wraps a recovered value in a Panicked with the current stack. If the value is a *Panicked, it
// returns the value unchanged.
func toPanicked(value any) *Panicked {
	if p, ok := value.(*Panicked); ok {
		return p
	}
	return &Panicked{value, debug.Stack()}
}

// repanicWithStack must be deferred. It recovers a panic and panics again with a *Panicked, which keeps the stack.
func repanicWithStack() {
	if v := recover(); v != nil {
		panic(toPanicked(v))
	}
}

// Each calls f for 0 ... n-1, at most limit at a time (no limit if it is zero or less), and returns
// when all calls have returned. It does not stop early: f checks its context itself. If calls
// panic, the others are made anyway, and then one of the panics is raised in the caller as a
// *Panicked.
func Each(exec Executor, limit, n int, f func(i int)) {
	if limit <= 0 || limit > n {
		limit = n
	}
	e := eachCall{n: n, f: f}
	g := NewGroup(exec)
	for range limit - 1 {
		g.Go(e.callRemaining)
	}
	e.callRemaining() // The caller makes calls too, because it has to wait anyway.
	g.Wait()
	if e.panicked != nil {
		panic(e.panicked)
	}
}

// eachCall is the state of one call of Each.
type eachCall struct {
	n int
	f func(i int)

	mu       sync.Mutex
	next     int
	panicked *Panicked
}

// callRemaining calls f for the next index until no index is left. It recovers each panic of f and continues
// with the next index.
func (e *eachCall) callRemaining() {
	for i, ok := e.takeNextIndex(); ok; i, ok = e.takeNextIndex() {
		e.callAndRecover(i)
	}
}

// takeNextIndex takes the next index and returns it. It returns false if no index is left.
func (e *eachCall) takeNextIndex() (index int, taken bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := e.next
	e.next++
	return i, i < e.n
}

// callAndRecover calls f for an index and recovers its panic. It stores the first panic of all calls.
func (e *eachCall) callAndRecover(i int) {
	defer func() {
		if v := recover(); v != nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.panicked == nil {
				e.panicked = toPanicked(v)
			}
		}
	}()
	e.f(i)
}

// Fault is the value with which a simulation panics if the simulated program breaks the rules of this
// package, or a test kit if a test uses it wrongly. A Fault must end the test. So code that recovers
// panics calls ReraiseFault with each recovered value.
type Fault struct{ Err error }

// Error returns the message for the test's output.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns the error.
func (f *Fault) Unwrap() error { return f.Err }

// panicFault panics with a Fault, an error in the use of this package.
func panicFault(sentence string) { panic(&Fault{errors.New(sentence)}) }

// ReraiseFault panics again if a recovered value is a Fault or wraps one. Code that turns panics into
// errors calls it first.
func ReraiseFault(value any) {
	err, ok := value.(error)
	if f := (*Fault)(nil); ok && errors.As(err, &f) {
		panic(toPanicked(value))
	}
}
