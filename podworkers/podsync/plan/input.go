package plan

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Input is what decides what to do with a pod besides its spec and its records.
type Input struct {
	// Incarnation is the incarnation that counts. Records of other incarnations are used
	// for attempt numbers only.
	Incarnation uint64
	// Now is compared with NotBefore and used for nothing else.
	Now time.Time
	// NotBefore holds, by container name, the end of crash-loop delays. A
	// container without one is not delayed. One that runs is not replaced before
	// that either for what the runtime reports of it.
	NotBefore map[string]time.Time
	// SandboxNotBefore is the same for the next sandbox. Until then what there is
	// stays as it is. Zero: it is not delayed.
	SandboxNotBefore time.Time
	// Published is the newest status of this incarnation, or nil. It is looked at for
	// containers whose records are gone, and for the numbers of attempts.
	Published *v1.PodStatus
	// Probed are the verdicts of probes, by the runtime's ID of a container that
	// runs. A container without one has given no reason to be stopped, and if it
	// has a startup probe it has not started.
	Probed map[string]Probed
	// Initialized is the ID of the sandbox that the pod was initialized in by the
	// last decision: its SandboxID if its Initialized was set. Empty: in none, or
	// nobody remembers. Then the records decide.
	Initialized string
	// Replaced are the containers that were told to end for the sake of the next
	// attempt, as far as somebody remembers.
	Replaced Replaced
}

// Verdict is what a probe believes of a container.
type Verdict uint8

// The verdicts.
const (
	// NoVerdict: the probe has not come to one, or there is none.
	NoVerdict Verdict = iota
	// Success is what the name says.
	Success
	// Failure is what the name says.
	Failure
)

// Probed are the verdicts on one container.
type Probed struct{ Liveness, Startup Verdict }
