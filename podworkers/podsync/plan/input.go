package plan

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// Input is what Decide needs besides the spec and the records of a pod.
type Input struct {
	// Incarnation is the current incarnation of the pod: one use of its UID. Records of other
	// incarnations are not progress of this pod. Decide stops their containers and removes their
	// sandboxes. If no record of the pod has an incarnation, the runtime does not store incarnations
	// and all records count.
	Incarnation uint64
	// Addresses: the runtime reports the addresses of sandboxes. Then a ready sandbox without an
	// address is replaced, unless it uses the network of the host. Set it in StatusInput too.
	Addresses bool
	// Resizes: the runtime can update the resources of a running container. If it cannot, changed
	// resources count from the next start of a container. Set it in StatusInput too.
	Resizes bool
	// Now is the time of the caller's clock. Decide uses a time of the runtime's clock only as an
	// age.
	Now time.Time
	// CrashLoop has the delays of restarts. They also hold for the second and later replacements of a
	// sandbox or a container that the runtime reports with another value than requested. The zero
	// value has the kubelet's numbers.
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
