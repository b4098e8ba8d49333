package contain

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
)

// UnhealthyPeriod is how long after its last panic a call counts as unhealthy.
const UnhealthyPeriod = 5 * time.Minute

// Config is what a Guard is made of. The zero value is complete.
type Config struct {
	// Package stands before the sentences of Healthy.
	Package string
	// Clock says when a panic is long ago; nil is the real one.
	Clock clock.PassiveClock
	// Log receives the stacks; nil discards them.
	Log *slog.Logger
	// OnPanic is called after each contained panic, with the name of the call and a
	// *Panic. It is called concurrently, with no lock held, and must not block; a
	// panic of it is dropped. Nil: nobody is told.
	OnPanic func(call string, err error)
}

// Guard contains panics. Make one with New. All methods are safe for concurrent
// use.
type Guard struct {
	prefix string
	clock  clock.PassiveClock
	log    *slog.Logger
	told   func(call string, err error)

	mu struct {
		sync.Mutex
		calls map[string]*record // of the calls that have panicked, by name: a fixed set
	}
}

// record is what is remembered of the panics of one call.
type record struct {
	times int
	last  time.Time
	err   error
}

// New makes a Guard that has contained nothing.
func New(c Config) *Guard {
	g := &Guard{prefix: c.Package + ": ", clock: c.Clock, told: c.OnPanic}
	g.clock = cmp.Or[clock.PassiveClock](g.clock, clock.RealClock{})
	g.log = g.Logger(c.Log)
	g.mu.calls = make(map[string]*record)
	return g
}

// Panic is what a panic has become: the error of the call.
type Panic struct {
	Call  string // such as "Runtime.ListPods"
	Value any
	Stack []byte
}

// Error names the call and the value. The stack is in the log only.
func (p *Panic) Error() string { return fmt.Sprintf("%s panicked: %v", p.Call, p.Value) }

// Unwrap gives the value, if that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Log is the logger of the Config with a contained handler.
func (g *Guard) Log() *slog.Logger { return g.log }

// Call calls f. Its error is a panic of f.
func (g *Guard) Call(call string, f func()) (err error) {
	defer g.Recover(call, &err)
	f()
	return nil
}

// Recover is deferred by a function that makes a call: a panic is put in err, and so is one
// of the error's own method Error. The function's other results keep what they were set to
// before.
func (g *Guard) Recover(call string, err *error) {
	if v := recover(); v != nil {
		*err = g.HandlePanic(call, v)
		return
	}
	*err = g.CheckErrorText(call, *err)
}

// CheckErrorText is an error that a call has returned, or the panic of its method Error.
func (g *Guard) CheckErrorText(call string, err error) (readable error) {
	if err != nil {
		defer func() {
			if v := recover(); v != nil {
				readable = g.HandlePanic(call+" error", v)
			}
		}()
		_ = err.Error()
	}
	return err
}

// HandlePanic is what became of a value that recover returned. Who defers a function
// of his own calls it there.
func (g *Guard) HandlePanic(call string, value any) error {
	p := newPanic(call, value)
	if g.note(call, p) {
		g.log.Error("a panic was contained", "call", call, "panic", fmt.Sprint(p.Value), "stack", string(p.Stack))
	}
	g.tell(call, p)
	return p
}

// newPanic raises again what is no business of a Guard.
func newPanic(call string, value any) *Panic {
	executor.Reraise(value)
	if p, ok := value.(*executor.Panicked); ok {
		return &Panic{call, p.Value, p.Stack}
	}
	return &Panic{call, value, debug.Stack()}
}

// RecordPanic takes over what another Guard has told: it is counted here, and logged
// there already.
func (g *Guard) RecordPanic(call string, err error) {
	g.note(call, err)
	g.tell(call, err)
}

// note counts a panic and reports whether it is the first one for a while.
func (g *Guard) note(call string, err error) (first bool) {
	now := g.clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.mu.calls[call]
	if r == nil || now.Sub(r.last) >= UnhealthyPeriod {
		r, first = &record{}, true
		g.mu.calls[call] = r
	}
	r.times++
	r.last, r.err = now, err
	return first
}

func (g *Guard) tell(call string, err error) {
	if g.told == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			executor.Reraise(v)
		}
	}()
	g.told(call, err)
}

// Healthy returns nil, or a sentence for each call that has panicked within the
// last five minutes.
func (g *Guard) Healthy() error {
	now := g.clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, call := range slices.Sorted(maps.Keys(g.mu.calls)) {
		r := g.mu.calls[call]
		age := now.Sub(r.last)
		if age >= UnhealthyPeriod {
			delete(g.mu.calls, call)
			continue
		}
		errs = append(errs, fmt.Errorf("%s%w (contained; %d times, the last time %s ago)", g.prefix, r.err, r.times, age))
	}
	return errors.Join(errs...)
}
