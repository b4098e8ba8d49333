package gc

import (
	"errors"
	"log/slog"
	"time"

	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
)

// Defaults of those that remove something of pods.
const (
	// DefaultRetry is how long a removal that failed waits for the next try.
	DefaultRetry = 10 * time.Second
	// DefaultMaxRetry is what that wait doubles up to.
	DefaultMaxRetry = 5 * time.Minute
	// resetRetry is how long after the last failure the wait is the first one again.
	resetRetry = 10 * time.Minute
	// DefaultCallTimeout bounds each call to the runtime.
	DefaultCallTimeout = 2 * time.Minute
	// DefaultDelay is how long after a change dead containers are looked for.
	DefaultDelay = 700 * time.Millisecond
	// DefaultMaxRemovals is how many pods are removed at once.
	DefaultMaxRemovals = 4
)

// completion completes a config, and collects what is wrong with it.
type completion struct {
	config string // its name
	errs   []error
}

func (c *completion) fault(is bool, what string) {
	if is {
		c.errs = append(c.errs, errors.New("gc: "+c.config+"."+what))
	}
}

func (c *completion) missing(is bool, field string) { c.fault(is, field+" is missing") }

// times are the same of all that remove something of one pod after another.
func (c *completion) times(retry, maxRetry, callTimeout *time.Duration) {
	orDefault(c, "Retry", retry, DefaultRetry)
	orDefault(c, "MaxRetry", maxRetry, max(*retry, DefaultMaxRetry))
	orDefault(c, "CallTimeout", callTimeout, DefaultCallTimeout)
}

// outside is what every config has of the world.
func (c *completion) outside(clk *clock.Clock, log **slog.Logger) {
	if *clk == nil {
		*clk = clock.RealClock{}
	}
	if *log == nil {
		*log = slog.New(slog.DiscardHandler)
	}
}

// guard contains what a collector calls that others have written, its log first.
func guard(clk clock.Clock, log **slog.Logger, panicked func(string, error)) *contain.Guard {
	g := contain.New(contain.Config{Package: "gc", Clock: clk, Log: *log, Told: panicked})
	*log = g.Log()
	return g
}

func (c *completion) err() error { return errors.Join(c.errs...) }

// orDefault gives a field that is zero its default. It must not be negative.
func orDefault[T ~int | ~int64](c *completion, name string, field *T, value T) {
	c.fault(*field < 0, name+" is negative")
	if *field == 0 {
		*field = value
	}
}
