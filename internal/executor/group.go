package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// Group starts things and waits for all of them. The zero value is not usable;
// NewGroup makes one.
type Group struct {
	t  Executor
	mu struct {
		sync.Mutex
		running int
		waiters []Latch
	}
}

// NewGroup makes an empty group.
func NewGroup(t Executor) *Group { return &Group{t: t} }

// Go runs f concurrently as a member of the group.
func (g *Group) Go(f func()) {
	g.mu.Lock()
	g.mu.running++
	g.mu.Unlock()
	g.t.Go(func() {
		defer g.leave()
		f()
	})
}

// Wait returns when no member runs. In a crashed process it returns at once,
// which comes to the same, since the younger coroutines unwind first.
func (g *Group) Wait() {
	if all := g.ended(); all != nil {
		_ = all.Wait(context.Background()) // It fails only by a crash, after which no coroutine runs.
	}
}

// WaitUntil is Wait bounded by t, for members that call what may not keep its word
// to return. It reports whether no member runs; those that do are left behind.
func (g *Group) WaitUntil(t time.Time) bool {
	all := g.ended()
	if all == nil {
		return true
	}
	ctx, cancel := g.t.WithDeadline(context.Background(), t)
	defer cancel()
	return !errors.Is(all.Wait(ctx), context.DeadlineExceeded)
}

// ended is opened when no member runs; nil if none does now.
func (g *Group) ended() Latch {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.running == 0 {
		return nil
	}
	all := g.t.NewLatch()
	g.mu.waiters = append(g.mu.waiters, all)
	return all
}

func (g *Group) leave() {
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

// Panicked is an error that carries a panic from where it happened to where it
// is raised again: from a call of Each to Each's caller, from a coroutine to
// the driver of its simulation.
type Panicked struct {
	Value any    // what the call panicked with
	Stack []byte // where
}

// Error gives the value and the stack, which is what Go prints if it is not
// recovered.
func (p *Panicked) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap gives the value, if that is an error.
func (p *Panicked) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// panicked wraps what recover returned, unless that has been done already.
func panicked(value any) *Panicked {
	if p, ok := value.(*Panicked); ok {
		return p
	}
	return &Panicked{value, debug.Stack()}
}

// explain is deferred where a panic is about to lose its stack.
func explain() {
	if v := recover(); v != nil {
		panic(panicked(v))
	}
}

// Each calls f for 0 ... n-1, at most limit at a time (no limit if it is zero
// or less), and returns when all calls have returned. It does not stop early:
// f looks at its context itself. If calls panic, the others are made all the
// same, and then one of the panics is raised in the caller as a *Panicked.
func Each(t Executor, limit, n int, f func(i int)) {
	if limit <= 0 || limit > n {
		limit = n
	}
	e := each{n: n, f: f}
	g := NewGroup(t)
	for range limit - 1 {
		g.Go(e.work)
	}
	e.work() // The caller is one of the workers: it has nothing else to do.
	g.Wait()
	if e.panicked != nil {
		panic(e.panicked)
	}
}

// each hands out the numbers of one call of Each.
type each struct {
	n int
	f func(i int)

	mu       sync.Mutex
	next     int
	panicked *Panicked
}

func (e *each) work() {
	for i, ok := e.take(); ok; i, ok = e.take() {
		e.call(i)
	}
}

func (e *each) take() (int, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := e.next
	e.next++
	return i, i < e.n
}

func (e *each) call(i int) {
	defer func() {
		if v := recover(); v != nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.panicked == nil {
				e.panicked = panicked(v)
			}
		}
	}()
	e.f(i)
}

// Fault is what the simulation panics with when the program in it breaks its
// rules, or when a test kit has found out that a test is wrong. It is a
// failure of the test, and no failure of the code that it happened to pass
// through: whoever contains panics raises it again, with Reraise.
type Fault struct{ Err error }

// Error is the sentence for the person who reads the test's output.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap gives the error.
func (f *Fault) Unwrap() error { return f.Err }

// fault panics with a sentence of this package.
func fault(sentence string) { panic(&Fault{errors.New(sentence)}) }

// Reraise panics again if a value that recover returned is a Fault, or carries
// one. Code that turns panics into errors calls it first.
func Reraise(value any) {
	err, ok := value.(error)
	if f := (*Fault)(nil); ok && errors.As(err, &f) {
		panic(panicked(value))
	}
}
