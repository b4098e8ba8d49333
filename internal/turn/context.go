package turn

import (
	"context"
	"sync"
	"time"
)

// Context is a cancellable context in one allocation that serves both halves.
// Unlike the standard one it can be embedded by value in a caller's struct,
// its done channel is made only when somebody asks for it, and its callbacks
// run in the goroutine that cancels, which is what lets a bottle see a
// cancellation without a goroutine of its own.
type Context struct {
	parent   context.Context
	deadline time.Time   // zero: the parent's
	unlink   func() bool // leaves the parent's callbacks; nil without one

	mu struct {
		sync.Mutex
		done      chan struct{}
		err       error
		callbacks map[*callback]struct{}
	}
}

type callback struct{ f func() }

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
func Detach(ctx context.Context) context.Context { return detached{ctx} }

// Init prepares an embedded Context. It is called once, before any other use.
func (c *Context) Init(parent context.Context) {
	c.parent = parent
	if cause := parent.Err(); cause != nil {
		c.Cancel(cause)
		return
	}
	if parent.Done() == nil {
		return
	}
	c.unlink = afterFunc(parent, func() { c.Cancel(parent.Err()) })
}

// Cancel ends the context with err. Only the first call has an effect.
func (c *Context) Cancel(err error) {
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
	callbacks := c.mu.callbacks
	c.mu.callbacks = nil
	unlink := c.unlink
	c.mu.Unlock()
	if unlink != nil {
		unlink()
	}
	for cb := range callbacks {
		cb.f()
	}
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
	defer c.mu.Unlock()
	return c.mu.err
}

// Value implements context.Context.
func (c *Context) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	return c.parent.Value(key)
}

// AfterFunc arranges for f to be called once the context ends, in the
// goroutine that ends it and with no lock held, or at once if it has ended.
// The standard library finds this method too, so that contexts derived from
// ours cost no goroutine either.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	cb := &callback{f}
	c.mu.Lock()
	if c.mu.err != nil {
		c.mu.Unlock()
		f()
		return func() bool { return false }
	}
	if c.mu.callbacks == nil {
		c.mu.callbacks = make(map[*callback]struct{}, 1)
	}
	c.mu.callbacks[cb] = struct{}{}
	c.mu.Unlock()
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.mu.callbacks[cb]
		delete(c.mu.callbacks, cb)
		return waiting
	}
}

// afterFunc finds the nearest Context of ours behind ctx and uses it, if ctx
// ends exactly when that one does; otherwise it asks the standard library.
func afterFunc(ctx context.Context, f func()) func() bool {
	if c, ok := ctx.Value(contextKey{}).(*Context); ok && (ctx == context.Context(c) || ctx.Done() == c.Done()) {
		return c.AfterFunc(f)
	}
	return context.AfterFunc(ctx, f)
}

// detached is a context that never ends and keeps the values of another.
type detached struct{ values context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }
func (d detached) Value(key any) any {
	if key == (contextKey{}) {
		return nil
	}
	return d.values.Value(key)
}
