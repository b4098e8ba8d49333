package pleg

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/runtime"
)

// Hooks observe the work of a PLEG. Each may be nil, is called with no lock
// held, concurrently with the others and with itself, and must not block.
type Hooks struct {
	// Relisted is called after every global listing.
	Relisted func(Relisting)
	// Inspected is called after every inspection of a pod.
	Inspected func(Inspection)
	// StreamEnded is called when the runtime's stream of events has ended. It
	// is opened again after retryIn.
	StreamEnded func(err error, retryIn time.Duration)
	// Panicked is called after each panic of the runtime, the log or another hook
	// that was contained, with the name of the call.
	Panicked func(call string, err error)
}

// contain wraps whatever a PLEG calls that others have written: a panic there is the
// error of that call. It returns the runtime's stream of events, nil without one.
func (c *Config) contain() runtime.EventSource {
	g := contain.New(contain.Config{Package: "pleg", Clock: c.Clock, Log: c.Log, Told: c.Hooks.Panicked})
	c.Log = g.Log()
	stream := contain.Feature[runtime.EventSource](g, c.Runtime) // Of the inner one: what contains it has all features.
	c.Runtime = contain.NewRuntime(g, c.Runtime)
	c.Hooks.Relisted = contain.Hook1(g, "Hooks.Relisted", c.Hooks.Relisted)
	c.Hooks.Inspected = contain.Hook1(g, "Hooks.Inspected", c.Hooks.Inspected)
	c.Hooks.StreamEnded = contain.Hook2(g, "Hooks.StreamEnded", c.Hooks.StreamEnded)
	return stream
}

// Relisting is one global listing.
type Relisting struct {
	Number   uint64 // of the observation
	Took     time.Duration
	Pods     int // listed
	Doubtful int // whose status the listing does not agree with: they are inspected
	Err      error
}

// Inspection is one inspection of a pod.
type Inspection struct {
	UID    types.UID
	Number uint64 // of the observation
	Took   time.Duration
	Events Events // what it has shown; none: nothing new
	Err    error
}
