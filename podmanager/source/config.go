package source

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/runtime"
)

// ErrConfig is what every fault of a Config is.
var ErrConfig = errors.New("source: bad config")

// Config is what a Mux is made of.
type Config struct {
	// Sources by name. The name is stamped on their pods and tells static
	// pods from others: see the package comment.
	Sources map[string]Source
	// Wake is called after every snapshot, from the source's goroutine and
	// without a lock: there may be something to take. It must not block.
	// SetWake replaces it.
	Wake func()
	// Clock is read for the first-seen time and waits between restarts of a
	// source. nil is the real one.
	Clock clock.Clock
	// Log takes what people should know. nil discards.
	Log *slog.Logger
	// Recorder, if not nil, records an event FailedValidation for each rejected pod.
	Recorder runtime.EventRecorder
	// Hooks observe.
	Hooks Hooks
}

// Hooks are called without a lock. Any of them may be nil; none may block.
type Hooks struct {
	// Rejected is called, within TakeAll, once for each pod of a snapshot that
	// cannot be delivered. The pod is nil if that was the fault.
	Rejected func(source string, pod *v1.Pod, err error)
	// Failed is called when a source has failed with an error it has not
	// failed with since it last ran well. Its last snapshot stays.
	Failed func(source string, err error)
	// Panicked is called after each panic of a source, the recorder, the log or
	// another hook that was contained, with the name of the call.
	Panicked func(call string, err error)
}

// contain wraps whatever a Mux calls that others have written: a panic there is the
// error of that call.
func (c *Config) contain() *contain.Guard {
	g := contain.New(contain.Config{Package: "source", Clock: c.Clock, Log: c.Log, Told: c.Hooks.Panicked})
	c.Log = g.Log()
	if c.Recorder != nil {
		c.Recorder = contain.NewRecorder(g, c.Recorder)
	}
	c.Hooks.Rejected = contain.Hook3(g, "Hooks.Rejected", c.Hooks.Rejected)
	c.Hooks.Failed = contain.Hook2(g, "Hooks.Failed", c.Hooks.Failed)
	return g
}

// complete fills in the defaults and names every fault.
func (c *Config) complete() error {
	var faults []error
	for name, s := range c.Sources {
		if name == "" {
			faults = append(faults, fmt.Errorf("%w: a source has an empty name", ErrConfig))
		}
		if s == nil {
			faults = append(faults, fmt.Errorf("%w: source %q is nil", ErrConfig, name))
		}
	}
	slices.SortFunc(faults, func(a, b error) int { // Maps have no order, sentences should.
		switch {
		case a.Error() < b.Error():
			return -1
		case a.Error() > b.Error():
			return 1
		}
		return 0
	})
	if c.Wake == nil {
		c.Wake = func() {}
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Hooks.Rejected == nil {
		c.Hooks.Rejected = func(string, *v1.Pod, error) {}
	}
	if c.Hooks.Failed == nil {
		c.Hooks.Failed = func(string, error) {}
	}
	return errors.Join(faults...)
}
