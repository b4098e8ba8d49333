package plan

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// Input is what Decide needs besides the spec and the records of a pod.
type Input struct {
	// Incarnation is the current incarnation. Decide uses records of other incarnations only for
	// attempt numbers. If no record of the pod has an incarnation, the runtime does not store
	// incarnations and all records count.
	Incarnation uint64
	// Addresses: the runtime reports the addresses of sandboxes. Then a ready sandbox without an
	// address is replaced, unless it uses the network of the host. Set it in StatusInput too.
	Addresses bool
	// Now is the time of the caller's clock. Decide uses a time of the runtime's clock only as an
	// age.
	Now time.Time
	// CrashLoop is the delay before a container starts again, and before a sandbox or a container
	// is replaced again because of a value that the runtime reports. The zero value has the
	// kubelet's numbers.
	CrashLoop backoff.CrashLoop
	// Memory is the memory of the last decision with everything that the executor has recorded
	// since.
	Memory Memory
	// Published is the newest published status of this incarnation, or nil. Decide reads it for
	// containers whose records are lost, and for attempt numbers.
	Published *v1.PodStatus
	// Probed has the probe verdicts of running containers, by the runtime's ID. A container without
	// an entry has not failed a probe; if it has a startup probe, it has not started.
	Probed map[string]Probed
}

// Verdict is the result of a probe over its thresholds.
type Verdict uint8

// The verdicts.
const (
	// NoVerdict: the probe has no result yet, or the container has no such probe.
	NoVerdict Verdict = iota
	// Success: the probe has succeeded.
	Success
	// Failure: the probe has failed.
	Failure
)

// Probed has the probe verdicts of one container.
type Probed struct{ Liveness, Startup Verdict }
