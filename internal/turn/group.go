package turn

import (
	"context"
	"runtime/debug"
	"sync"
)

// Group starts things and waits for all of them. The zero value is not usable;
// NewGroup makes one.
type Group struct {
	t  Turn
	mu struct {
		sync.Mutex
		running int
		waiters []Latch
	}
}

// NewGroup makes an empty group.
func NewGroup(t Turn) *Group { return &Group{t: t} }

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

// Wait returns when no member runs. In a crashed process it returns at once.
func (g *Group) Wait() {
	g.mu.Lock()
	if g.mu.running == 0 {
		g.mu.Unlock()
		return
	}
	all := g.t.NewLatch()
	g.mu.waiters = append(g.mu.waiters, all)
	g.mu.Unlock()
	_ = all.Wait(context.Background()) // It fails only by a crash, after which nobody runs.
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

// Panicked is the value with which Each panics in the caller's goroutine when
// one of its calls panicked in another.
type Panicked struct {
	Value any    // what the call panicked with
	Stack []byte // where
}

// Each calls f for 0 ... n-1, at most limit at a time (no limit if it is zero
// or less), and returns when all calls have returned. It does not stop early:
// f looks at its context itself. A panic of a call is raised in the caller
// once the others are done.
func Each(t Turn, limit, n int, f func(i int)) {
	if limit <= 0 || limit > n {
		limit = n
	}
	if limit <= 1 {
		for i := range n {
			f(i)
		}
		return
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
				e.panicked = &Panicked{v, debug.Stack()}
			}
		}
	}()
	e.f(i)
}
