package pleg

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
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
