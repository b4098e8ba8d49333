package podstatus

import (
	v1 "k8s.io/api/core/v1"
)

// Readiness is the fields Started and Ready of a container status. This file decides them and is
// the only place that writes them.
type Readiness struct{ Started, Ready bool }

// ContainerRole says which of the rules of DecideReadiness holds for a container.
type ContainerRole uint8

// The roles.
const (
	// RoleLasting is a regular container or a sidecar.
	RoleLasting ContainerRole = iota
	// RoleInit is an ordinary init container.
	RoleInit
	// RoleEphemeral is an ephemeral container.
	RoleEphemeral
)

// ReadinessFacts is what DecideReadiness needs to know about a container.
type ReadinessFacts struct {
	Role ContainerRole
	// Running: the container runs. Succeeded: it has exited with code 0.
	Running, Succeeded bool
	// StartupPassed: the startup probe has succeeded, or the container has none.
	StartupPassed bool
	// ReadinessPassed: the readiness probe has succeeded, or the container has none.
	ReadinessPassed bool
	// Unreachable: the container runs in an older sandbox, which does not have the address of the
	// pod.
	Unreachable bool
}

// DecideReadiness decides Started and Ready of a container.
//
//   - A container has started if it runs and its startup probe has succeeded.
//   - A regular container or a sidecar is ready if it has started, its readiness probe has
//     succeeded, and it can be reached at the address of the pod.
//   - An ordinary init container is ready if it has exited with code 0.
//   - An ephemeral container is neither.
func DecideReadiness(f ReadinessFacts) Readiness {
	started := f.Running && f.StartupPassed
	switch f.Role {
	case RoleEphemeral:
		return Readiness{}
	case RoleInit:
		return Readiness{Started: started, Ready: f.Succeeded}
	}
	return Readiness{Started: started, Ready: started && f.ReadinessPassed && !f.Unreachable}
}

// ReadinessOf returns the readiness that a container status shows. A status without the field
// Started shows a container that has not started.
func ReadinessOf(c *v1.ContainerStatus) Readiness {
	return Readiness{Started: isTrue(c.Started), Ready: c.Ready}
}

// WriteTo sets Started and Ready of a container status.
func (r Readiness) WriteTo(c *v1.ContainerStatus) { c.Started, c.Ready = &r.Started, r.Ready }

// WriteShared sets Started and Ready of a container status. The field Started points into r, so that
// a caller with many statuses can allocate all of them at once.
func (r *Readiness) WriteShared(c *v1.ContainerStatus) { c.Started, c.Ready = &r.Started, r.Ready }

// MergePublished decides the readiness that a container had before this process, from two sources
// that an earlier process wrote. A container that either source shows as started has started.
// Whether it is ready is what the newer source shows.
func MergePublished(older, newer Readiness) Readiness {
	return Readiness{Started: older.Started || newer.Started, Ready: newer.Ready}
}

// SetUnprobed decides the readiness of a container none of whose probes has a result, and sets it in
// the status of the container. It does not change the status of a container without a startup and a
// readiness probe.
func SetUnprobed(spec *v1.Container, c *v1.ContainerStatus) {
	if spec.StartupProbe == nil && spec.ReadinessProbe == nil {
		return
	}
	DecideReadiness(ReadinessFacts{
		Running: c.State.Running != nil, StartupPassed: spec.StartupProbe == nil, ReadinessPassed: spec.ReadinessProbe == nil,
	}).WriteTo(c)
}

// SetProbed decides the readiness of a regular or init container from the results of its probes and
// sets it in the status of the container. A probe that does not exist has passed.
func SetProbed(role ContainerRole, c *v1.ContainerStatus, startupPassed, readinessPassed bool) {
	DecideReadiness(ReadinessFacts{
		Role: role, Running: c.State.Running != nil, Succeeded: c.State.Terminated != nil && c.State.Terminated.ExitCode == 0,
		StartupPassed: startupPassed, ReadinessPassed: readinessPassed,
	}).WriteTo(c)
}

// SetReadinessResult applies a new result of the readiness probe to the status of a regular container
// or a sidecar. It reports whether the status has changed. A success of a container that does not run,
// or has not started, changes nothing. A status without the field Started does not show that the
// container has not started.
func SetReadinessResult(c *v1.ContainerStatus, passed bool) (changed bool) {
	r := DecideReadiness(ReadinessFacts{
		Running: c.State.Running != nil, StartupPassed: c.Started == nil || *c.Started, ReadinessPassed: passed,
	})
	if r.Ready != passed || c.Ready == r.Ready {
		return false
	}
	c.Ready = r.Ready
	return true
}

// SetStartupResult applies a new result of the startup probe to the status of a regular container or
// a sidecar. It reports whether Started or Ready has changed. A success of a container that does not
// run changes nothing.
func SetStartupResult(c *v1.ContainerStatus, passed bool) (changed bool) {
	r := DecideReadiness(ReadinessFacts{Running: c.State.Running != nil, StartupPassed: passed, ReadinessPassed: c.Ready})
	if r.Started != passed || c.Started != nil && *c.Started == r.Started {
		return false
	}
	r.WriteTo(c)
	return true
}

// SetNotStarted makes a container neither started nor ready, although it runs: its postStart hook has
// not succeeded, so its probes have not begun.
func SetNotStarted(c *v1.ContainerStatus) { Readiness{}.WriteTo(c) }

// SetUnreachable makes a container not ready that runs in an older sandbox: it does not have the address of
// the pod.
func SetUnreachable(c *v1.ContainerStatus) {
	c.Ready = DecideReadiness(ReadinessFacts{Running: true, StartupPassed: isTrue(c.Started), ReadinessPassed: c.Ready, Unreachable: true}).Ready
}

// SetReadinessUnknown makes a container not ready and removes the field Started. An ephemeral
// container has no such field. A container whose start no status shows yet has none either.
func SetReadinessUnknown(c *v1.ContainerStatus) { c.Started, c.Ready = nil, false }

// SetStopped makes a container that no longer runs neither started nor ready. A status without the
// field Started stays without it.
func SetStopped(c *v1.ContainerStatus) {
	if c.Ready = false; c.Started != nil {
		c.Started = new(bool)
	}
}
