package memory

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/utils/clock"
)

// Config is what a Runtime is made from. The zero value is usable.
type Config struct {
	// Clock is the machine's: containers run on it, and New's client waits on
	// it. Nil is the real clock.
	Clock clock.Clock
	// Images are present from the start. Every other image is absent until it
	// is pulled, which succeeds unless FailPulls or a script says otherwise.
	Images []string
	// Log gets one debug line per call. Nil discards.
	Log *slog.Logger
	// Hooks observe.
	Hooks Hooks
}

// Hooks are called without any lock held, from the goroutine of the caller
// that is observed. Each may be nil.
type Hooks struct {
	// Call is called at the end of every verb of the runtime interfaces,
	// whether it succeeded or not, concurrently with other calls of itself.
	Call func(Call)
	// CallContext is Call with the context of the call, for observers that want a value of it.
	CallContext func(context.Context, Call)
}

// Call is one use of the runtime.
type Call struct {
	Verb    string // the method's name, as "StartContainer"
	Request any    // the request, or the types.UID of PodStatus; nil if the verb takes none
	Result  any    // what was returned beside the error; nil if the verb returns none
	Err     error
	Began   time.Time
	Ended   time.Time
}

func (c *Config) setDefaults() {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}
