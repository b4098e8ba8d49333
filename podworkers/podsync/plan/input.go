package plan

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// Input is what decides what to do with a pod besides its spec and its records.
type Input struct {
	// Incarnation is the incarnation that counts. Records of other incarnations are used
	// for attempt numbers only. If no record of the pod has an incarnation, all records count:
	// the runtime does not store incarnations.
	Incarnation uint64
	// Addresses says that the runtime reports the addresses of sandboxes. Then a ready sandbox
	// without an address is replaced, unless it is on the network of the host. Set it in
	// StatusInput too.
	Addresses bool
	// Now is the caller's clock. What a runtime's clock says counts only as an age.
	Now time.Time
	// CrashLoop is how long a container waits after an end before it starts again, and
	// after how long a sandbox or a container is replaced again for what the runtime reports
	// of it. The zero value has the kubelet's numbers.
	CrashLoop backoff.CrashLoop
	// Memory is what the last decision left, with what its executor has noted since.
	Memory Memory
	// Published is the newest status of this incarnation, or nil. It is looked at for
	// containers whose records are gone, and for the numbers of attempts.
	Published *v1.PodStatus
	// Probed are the verdicts of probes, by the runtime's ID of a container that
	// runs. A container without one has given no reason to be stopped, and if it
	// has a startup probe it has not started.
	Probed map[string]Probed
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
