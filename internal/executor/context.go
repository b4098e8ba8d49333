package executor

import (
	"context"
	"sync"
	"time"
)

// Context is a cancellable context in one allocation that serves both halves.
// Unlike the standard one it can be embedded by value in a caller's struct,
// its done channel is made only when Done is called, and its callbacks
// run in the goroutine that cancels, in the order in which they came. That is
// what lets a simulation see a cancellation without a goroutine of its own.
type Context struct {
	parent   context.Context
	deadline time.Time // zero: the parent's
	// foreign says that some ancestor is a cancellable context of another
	// make. It announces its end from a goroutine of its own, at its leisure,
	// so Err looks at the parent itself: a child never outlives its parent.
	foreign bool
	link    callback // our place with the parent, if that is one of ours

	mu struct {
		sync.Mutex
		done      chan struct{}
		err       error
		unlink    func() bool // leaves a foreign parent; nil without one
		callbacks callbacks
	}
}

type contextKey struct{}

// closed is the done channel of every context that was cancelled before
// anybody asked for its channel.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// NewContext makes a Context that ends when its parent does or when Cancel is
// called.
func NewContext(parent context.Context) *Context {
	c := new(Context)
	c.Init(parent)
	return c
}

// WithCancel is NewContext in the shape of the standard library's function.
func WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	c := NewContext(parent)
	return c, func() { c.Cancel(context.Canceled) }
}

// Detach keeps a context's values and drops its end: for a call that, once
// sent, must run to a deadline of its own.
func Detach(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// Init prepares an embedded Context. It is called once, before any other use.
func (c *Context) Init(parent context.Context) {
	c.parent = parent
	if o := own(parent); o != nil {
		c.foreign = o.foreign
		c.link.child = c
		if !o.adopt(&c.link) {
			c.Cancel(parent.Err())
		}
		return
	}
	if parent.Done() == nil {
		return
	}
	c.foreign = true
	unlink := context.AfterFunc(parent, func() { c.Cancel(parent.Err()) })
	c.mu.Lock()
	c.mu.unlink = unlink
	c.mu.Unlock()
	_ = c.Err() // Ends c if the parent has ended, and takes the callback back.
}

// Cancel ends the context with err, or with its parent's if that has ended; nil
// stands for context.Canceled. Only the first call has an effect.
func (c *Context) Cancel(err error) {
	if err == nil {
		err = context.Canceled
	}
	if c.foreign {
		if cause := c.parent.Err(); cause != nil {
			err = cause
		}
	}
	c.mu.Lock()
	if c.mu.err != nil {
		c.mu.Unlock()
		return
	}
	c.mu.err = err
	if c.mu.done == nil {
		c.mu.done = closed
	} else {
		close(c.mu.done)
	}
	unlink := c.mu.unlink
	alone := c.mu.callbacks.first == nil // None can come any more: the context has ended.
	c.mu.Unlock()
	if unlink != nil {
		unlink()
	}
	c.link.leave()
	if alone {
		return
	}
	for f := c.firstCallback(); f != nil; f = c.firstCallback() {
		f.call()
	}
}

// firstCallback takes the oldest callback off the list, one at a time, so that
// one callback can still withdraw another.
func (c *Context) firstCallback() *callback {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.mu.callbacks.first
	if f != nil {
		c.mu.callbacks.remove(f)
	}
	return f
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) {
	t, ok := c.parent.Deadline()
	if !c.deadline.IsZero() && (!ok || c.deadline.Before(t)) {
		return c.deadline, true
	}
	return t, ok
}

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.done == nil {
		c.mu.done = make(chan struct{})
	}
	return c.mu.done
}

// Err implements context.Context.
func (c *Context) Err() error {
	c.mu.Lock()
	err := c.mu.err
	c.mu.Unlock()
	if err == nil && c.foreign {
		if err = c.parent.Err(); err != nil {
			c.Cancel(err)
		}
	}
	return err
}

// Value implements context.Context.
func (c *Context) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	return c.parent.Value(key)
}

// AfterFunc arranges for f to be called once the context ends, in the
// goroutine that ends it and with no lock held. The standard library finds
// this method too, so that contexts derived from ours cost no goroutine.
//
// On a context that has ended, f is called in a goroutine of its own: the
// standard library calls this method with a lock held that f needs. Code that
// a simulation drives looks at Err first.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	cb := &callback{f: f}
	if !c.adopt(cb) {
		go f()
		return func() bool { return false }
	}
	return cb.leave
}

// adopt takes a callback or a child, unless the context has ended.
func (c *Context) adopt(cb *callback) bool {
	cb.owner = c
	if c.Err() != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.err != nil {
		return false
	}
	c.mu.callbacks.add(cb)
	return true
}

// own finds the Context of ours that ends exactly when ctx does: ctx itself,
// one that embeds it, or one wrapped in values; nil if there is none.
func own(ctx context.Context) *Context {
	if c, ok := ctx.(*Context); ok {
		return c
	}
	if c, ok := ctx.Value(contextKey{}).(*Context); ok && ctx.Done() == c.Done() {
		return c
	}
	return nil
}

// callback is what happens when a context ends: f, or the end of a child,
// whose link this is. It stands in its owner's list, guarded by its lock.
type callback struct {
	f     func()
	child *Context

	owner      *Context // nil: never stood in a list
	listed     bool
	prev, next *callback
}

// leave takes the callback back. It reports whether that came in time.
func (cb *callback) leave() bool {
	if cb.owner == nil {
		return false
	}
	cb.owner.mu.Lock()
	defer cb.owner.mu.Unlock()
	if !cb.listed {
		return false
	}
	cb.owner.mu.callbacks.remove(cb)
	return true
}

func (cb *callback) call() {
	if cb.child != nil {
		cb.child.Cancel(cb.owner.Err())
		return
	}
	cb.f()
}

// callbacks is a list in order of arrival. The order matters: in a simulation it
// reaches the trace. It is linked through its members because ten thousand
// pods' contexts may hang on one parent, and each leaves on its own.
type callbacks struct{ first, last *callback }

func (l *callbacks) add(cb *callback) {
	cb.listed, cb.prev = true, l.last
	if l.last == nil {
		l.first = cb
	} else {
		l.last.next = cb
	}
	l.last = cb
}

func (l *callbacks) remove(cb *callback) {
	if cb.prev == nil {
		l.first = cb.next
	} else {
		cb.prev.next = cb.next
	}
	if cb.next == nil {
		l.last = cb.prev
	} else {
		cb.next.prev = cb.prev
	}
	cb.listed, cb.prev, cb.next = false, nil, nil
}
