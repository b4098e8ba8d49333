package memory

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/utils/clock"
)

// Config configures a Runtime. The zero value is usable.
type Config struct {
	// Clock is the clock of the machine. Containers run on it, and the client that New returns
	// waits on it. Nil is the real clock.
	Clock clock.Clock
	// Images are present from the start. Any other image is absent until it is pulled. A pull
	// succeeds unless FailPulls or a script makes it fail.
	Images []string
	// Log gets one debug line per call. Nil discards them.
	Log *slog.Logger
	// Hooks observe the calls.
	Hooks Hooks
}

// Hooks are called without any lock held, on the goroutine of the observed caller. Each may be nil.
type Hooks struct {
	// Call is called at the end of every method of the runtime interfaces, whether it succeeded or
	// not. Calls of Call may overlap.
	Call func(Call)
	// CallContext is Call with the context of the observed call, for observers that need a value of
	// it.
	CallContext func(context.Context, Call)
}

// Call is one call of a method of the runtime interfaces.
type Call struct {
	Verb    string // the name of the method, such as "StartContainer"
	Request any    // the request, or the types.UID of PodStatus; nil if the method takes none
	Result  any    // the result without the error; nil if the method returns only an error
	Err     error
	Began   time.Time
	Ended   time.Time
}

// setDefaults sets a nil clock to the real clock and a nil log to one that discards its records.
func (c *Config) setDefaults() {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}
