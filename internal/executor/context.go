package executor

import (
	"context"
	"sync"
	"time"
)

// Context is a cancellable context in one allocation, for production and simulation. Unlike the
// standard one it can be embedded by value, it makes its done channel only when Done is called, and
// its callbacks run in the goroutine that cancels, in the order in which they were added. So a
// simulation can react to a cancellation without a goroutine.
type Context struct {
	parent   context.Context
	deadline time.Time // zero: the parent's deadline
	// pollsParent says that an ancestor is a cancellable context of another type. Such a context
	// notifies its children in a goroutine of its own, which may be late. So Err also checks the
	// parent: a child never outlives its parent.
	pollsParent bool
	parentLink  callback // registers this context with a parent of this type

	mu struct {
		sync.Mutex
		done      chan struct{}
		err       error
		unlink    func() bool // unregisters from a foreign parent; nil: there is none
		callbacks callbacks
	}
}

type contextKey struct{}

// closedChannel is the done channel of every context that was cancelled before the first call of
// Done.
var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// NewContext returns a Context that ends with its parent or when Cancel is called.
func NewContext(parent context.Context) *Context {
	c := new(Context)
	c.Init(parent)
	return c
}

// WithCancel is NewContext with the signature of the standard library's function.
func WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	c := NewContext(parent)
	return c, func() { c.Cancel(context.Canceled) }
}

// Detach returns a context with the values of ctx that does not end with ctx. It is for a call that
// must run to its own deadline once it was sent.
func Detach(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// Init initialises an embedded Context. It is called once, before any other use.
func (c *Context) Init(parent context.Context) {
	c.parent = parent
	if o := equivalentContext(parent); o != nil {
		c.pollsParent = o.pollsParent
		c.parentLink.child = c
		if !o.addCallback(&c.parentLink) {
			c.Cancel(parent.Err())
		}
		return
	}
	if parent.Done() == nil {
		return
	}
	c.pollsParent = true
	unlink := context.AfterFunc(parent, func() { c.Cancel(parent.Err()) })
	c.mu.Lock()
	c.mu.unlink = unlink
	c.mu.Unlock()
	_ = c.Err() // If the parent has ended this cancels c and unregisters the callback.
}

// Cancel ends the context with err, or with its parent's error if the parent has ended. Nil stands
// for context.Canceled. Only the first call has an effect.
func (c *Context) Cancel(err error) {
	if err == nil {
		err = context.Canceled
	}
	if c.pollsParent {
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
		c.mu.done = closedChannel
	} else {
		close(c.mu.done)
	}
	unlink := c.mu.unlink
	alone := c.mu.callbacks.first == nil // no callback can be added after the end
	c.mu.Unlock()
	if unlink != nil {
		unlink()
	}
	c.parentLink.withdrawUnlessRun()
	if alone {
		return
	}
	for f := c.popCallback(); f != nil; f = c.popCallback() {
		f.cancelChildOrCall()
	}
}

// popCallback removes and returns the oldest callback, or returns nil if there is none. It removes a single
// callback, so that one callback can still withdraw another.
func (c *Context) popCallback() *callback {
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
	if err == nil && c.pollsParent {
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

// AfterFunc registers f to be called when the context ends, in the goroutine that ends it and
// without a lock. The standard library uses this method too, so a context.WithCancel directly over
// this context needs no goroutine.
//
// If the context has ended already, f is called in a new goroutine: the standard library calls this
// method while it holds a lock that f needs. Code in a simulation checks Err first.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	cb := &callback{f: f}
	if !c.addCallback(cb) {
		go f()
		return func() bool { return false }
	}
	return cb.withdrawUnlessRun
}

// addCallback adds a callback, which runs when the context ends, and returns true. It returns false if the
// context has already ended.
func (c *Context) addCallback(cb *callback) (added bool) {
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

// equivalentContext returns the Context of this package that ends exactly when ctx does: ctx itself, the Context that
// ctx embeds, or the parent of ctx if ctx only adds values. It returns nil if there is no such Context.
func equivalentContext(ctx context.Context) *Context {
	if c, ok := ctx.(*Context); ok {
		return c
	}
	if c, ok := ctx.Value(contextKey{}).(*Context); ok && ctx.Done() == c.Done() {
		return c
	}
	return nil
}

// callback is called when a context ends: either f, or the cancellation of child. It is an element
// of its owner's list, guarded by the owner's lock.
type callback struct {
	f     func()
	child *Context

	owner      *Context // nil: never added to a list
	listed     bool
	prev, next *callback
}

// withdrawUnlessRun removes the callback from the list of its context, so that it never runs. It returns false
// if the callback has already run or was never added.
func (cb *callback) withdrawUnlessRun() (withdrawn bool) {
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

// cancelChildOrCall cancels the child context of the callback with the error of its owner. If the callback has no child, run
// calls f.
func (cb *callback) cancelChildOrCall() {
	if cb.child != nil {
		cb.child.Cancel(cb.owner.Err())
		return
	}
	cb.f()
}

// callbacks is a list in the order in which callbacks were added. A simulation depends on the
// order. The list is linked through its elements, because ten thousand contexts may have one parent
// and each is removed on its own.
type callbacks struct{ first, last *callback }

// add appends a callback to the list.
func (l *callbacks) add(cb *callback) {
	cb.listed, cb.prev = true, l.last
	if l.last == nil {
		l.first = cb
	} else {
		l.last.next = cb
	}
	l.last = cb
}

// remove removes a callback from the list.
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
