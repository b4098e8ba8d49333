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

// Config configures a Guard. The zero value is complete.
type Config struct {
	// Package is the prefix of the errors that Healthy returns.
	Package string
	// Clock measures the age of panics; nil is the real clock.
	Clock clock.PassiveClock
	// Log receives the stacks; nil discards them.
	Log *slog.Logger
	// OnPanic is called after each contained panic, with the name of the call and a *Panic. It may be called
	// concurrently, holds no lock, and must not block. A panic of OnPanic is ignored. Nil calls nothing.
	OnPanic func(call string, err error)
}

// Guard contains panics. New creates one. All methods are safe for concurrent use.
type Guard struct {
	prefix  string
	clock   clock.PassiveClock
	log     *slog.Logger
	onPanic func(call string, err error)

	mu struct {
		sync.Mutex
		calls map[string]*callRecord // by name; only calls that have panicked
	}
}

// callRecord is the history of panics of one call.
type callRecord struct {
	count int
	last  time.Time
	err   error
}

// New creates a Guard.
func New(c Config) *Guard {
	g := &Guard{prefix: c.Package + ": ", clock: c.Clock, onPanic: c.OnPanic}
	g.clock = cmp.Or[clock.PassiveClock](g.clock, clock.RealClock{})
	g.log = g.Logger(c.Log)
	g.mu.calls = make(map[string]*callRecord)
	return g
}

// Panic is the error of a call that panicked.
type Panic struct {
	Call  string // such as "Runtime.ListPods"
	Value any
	Stack []byte
}

// Error names the call and the panic value. Only the log has the stack.
func (p *Panic) Error() string { return fmt.Sprintf("%s panicked: %v", p.Call, p.Value) }

// Unwrap returns the panic value if that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Log returns the logger of the Config with a wrapped handler.
func (g *Guard) Log() *slog.Logger { return g.log }

// Call calls f. It returns a panic of f as an error.
func (g *Guard) Call(call string, f func()) (err error) {
	defer g.Recover(call, &err)
	f()
	return nil
}

// Recover is deferred by a function that makes a call. It stores a panic in err, also a panic of the error's own method
// Error. The other results of the function keep their values.
func (g *Guard) Recover(call string, err *error) {
	if v := recover(); v != nil {
		*err = g.HandlePanic(call, v)
		return
	}
	*err = g.CheckErrorText(call, *err)
}

// CheckErrorText calls the method Error of err. It returns err, or the panic of that method as an error.
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

// HandlePanic logs and counts a value that recover returned, and returns it as an error. Functions that defer their own
// recover call it.
func (g *Guard) HandlePanic(call string, value any) error {
	p := newPanicOrReraise(call, value)
	if g.storeAndCountPanic(call, p) {
		g.log.Error("a panic was contained", "call", call, "panic", fmt.Sprint(p.Value), "stack", string(p.Stack))
	}
	g.callOnPanic(call, p)
	return p
}

// newPanicOrReraise converts a recovered value to a Panic with a stack. If the value is an executor.Fault, it
// panics with this value again, because a Guard must not contain a Fault.
func newPanicOrReraise(call string, value any) *Panic {
	executor.ReraiseFault(value)
	if p, ok := value.(*executor.Panicked); ok {
		return &Panic{call, p.Value, p.Stack}
	}
	return &Panic{call, value, debug.Stack()}
}

// RecordPanic counts a panic that another Guard has contained and logged.
func (g *Guard) RecordPanic(call string, err error) {
	g.storeAndCountPanic(call, err)
	g.callOnPanic(call, err)
}

// storeAndCountPanic counts a panic of a guarded call and stores its error and time. It returns true for the
// first panic of the call. If UnhealthyPeriod or more has passed since the last panic, the count begins again
// and it also returns true. For any other panic it returns false.
func (g *Guard) storeAndCountPanic(call string, err error) (firstInPeriod bool) {
	now := g.clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.mu.calls[call]
	if r == nil || now.Sub(r.last) >= UnhealthyPeriod {
		r, firstInPeriod = &callRecord{}, true
		g.mu.calls[call] = r
	}
	r.count++
	r.last, r.err = now, err
	return firstInPeriod
}

// callOnPanic calls the hook OnPanic if it is set. It recovers a panic of the hook, except an executor.Fault.
func (g *Guard) callOnPanic(call string, err error) {
	if g.onPanic == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			executor.ReraiseFault(v)
		}
	}()
	g.onPanic(call, err)
}

// Healthy returns nil, or an error for each call that has panicked within the last five minutes.
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
		errs = append(errs, fmt.Errorf("%s%w (contained; %d times, the last time %s ago)", g.prefix, r.err, r.count, age))
	}
	return errors.Join(errs...)
}
