package plan

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Input is everything that decides what to do with a pod.
type Input struct {
	Pod *v1.Pod
	// Status is what the runtime shows of the pod, all incarnations included.
	Status *runtime.PodStatus
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
	// Published is the newest status of this incarnation, or nil. It is read for
	// containers whose records are gone, and for the numbers of attempts.
	Published *v1.PodStatus
	// Probed are the verdicts of probes, by the runtime's ID of a container that
	// runs. A container without one has given no reason to be stopped, and if it
	// has a startup probe it has not started.
	Probed map[string]Probed
	// Initialized is the ID of the sandbox that the pod was initialized in by the last
	// decision: its SandboxID if its Initialized was set. Empty: in none, or it is not
	// known. Then the records decide.
	Initialized string
	// Replaced are the containers that were told to end for the sake of the next
	// attempt, as far as it is known.
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

// Actions is what to do with a pod now, in the order of the fields. The zero
// value: nothing.
type Actions struct {
	// Held are replacements that wait for their backoff. Nothing is done for them.
	Held []Held
	// KillPod says why all containers and sandboxes of the pod, of every incarnation,
	// must be stopped before anything else. Empty: they need not.
	KillPod Why
	// Kill are containers to stop one by one.
	Kill []Kill
	// Prune are exited init containers that are no longer needed.
	Prune []string
	// StopSandboxes are older sandboxes that are ready and unused.
	StopSandboxes []string
	// RemoveSandboxes are sandboxes left behind by calls whose reply was lost.
	RemoveSandboxes []string
	// PruneSandboxes are sandboxes of previous incarnations that are no longer needed.
	PruneSandboxes []string
	// CreateSandbox says why a sandbox is to be made, of SandboxAttempt. Empty:
	// containers are started in SandboxID.
	CreateSandbox  Why
	SandboxAttempt uint32
	SandboxID      string
	// Initialized says that the pod is initialized in SandboxID: it is to be
	// remembered for the next decision. If it is not set, as after a Reset, nothing
	// is: what was remembered is forgotten, before anything else is done.
	Initialized bool
	// Reset are all init and regular containers of a pod that RestartAllContainers
	// restarts, in the order in which they are to go: each is stopped, if it runs, and
	// its record removed. Those that are the reason come last, and must not go before
	// all others have. Nothing else is done by the same decision.
	Reset []Kill
	// Ephemeral are the ephemeral containers to start, before all others; each
	// stands for itself.
	Ephemeral []Start
	// Init are the init containers to start, in order. At most one is no sidecar:
	// it comes last, and with no regular container, since nothing of what needs it
	// is started before it has ended.
	Init []Start
	// Containers are the regular containers to start, in order; each stands
	// for itself.
	Containers []Start
}

// Held is a container, or a sandbox, that is to be replaced and is not yet.
type Held struct {
	Container string // empty: the sandbox
	Why       Why
	Until     time.Time
}

// Kill is one container to stop.
type Kill struct {
	ID   string
	Name string
	Why  Why
	// Grace, in seconds, is that of the probe whose failure is the reason, none
	// if all containers restart, and nil if the pod's counts. That of a
	// deletion goes before it.
	Grace *int64
}

// Start is one container to create and start.
type Start struct {
	Container *v1.Container
	// Attempt is the number of the new record.
	Attempt uint32
	// Remove are the created records that never ran and must go first, so that
	// there are never two.
	Remove []string
	// HeldUntil, if not zero, forbids the start before that time.
	HeldUntil time.Time
	Why       Why
	// Sidecar says that it is a restartable init container.
	Sidecar bool
}

// Idle reports whether there is nothing to do.
func (a *Actions) Idle() bool {
	return a.KillPod == "" && a.CreateSandbox == "" && len(a.Kill) == 0 && len(a.Init) == 0 &&
		len(a.Containers) == 0 && len(a.Ephemeral) == 0 && len(a.Reset) == 0 &&
		len(a.StopSandboxes) == 0 && len(a.RemoveSandboxes) == 0 && len(a.PruneSandboxes) == 0
}
