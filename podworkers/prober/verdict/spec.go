package verdict

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Kind is the kind of a probe: liveness, readiness or startup.
type Kind uint8

// The kinds of probes.
const (
	// Liveness: a container that fails it is restarted.
	Liveness Kind = iota
	// Readiness: a container that fails it is not Ready.
	Readiness
	// Startup: liveness and readiness wait for its success; a container that fails it
	// is restarted.
	Startup
)

// Kinds is the number of kinds: Kind(0) to Kind(Kinds-1).
const Kinds = 3

// String returns the kind as the kubelet writes it in events.
func (k Kind) String() string {
	if k < Kinds {
		return [...]string{"Liveness", "Readiness", "Startup"}[k]
	}
	return "Unknown"
}

// Value is a verdict of a probe, or the outcome of one attempt.
type Value uint8

// The values.
const (
	// Unknown means that there is no verdict yet, or that no check of an attempt had a result.
	Unknown Value = iota
	// Success means that the probe, or the attempt, has succeeded.
	Success
	// Failure means that the probe, or the attempt, has failed. As a verdict it also means that the
	// container has stopped running.
	Failure
)

// String returns the value's name.
func (v Value) String() string {
	if v <= Failure {
		return [...]string{"Unknown", "Success", "Failure"}[v]
	}
	return "Unknown"
}

// Spec is the timing of one probe and its thresholds, all defaults filled in.
type Spec struct {
	// InitialDelay is the time from the start of the container to the first attempt.
	InitialDelay time.Duration
	// Period is the time from one attempt to the next. It is positive.
	Period time.Duration
	// Timeout is the time limit of one check. Package prober uses it; this package does not.
	Timeout time.Duration
	// Successes is the number of successful attempts in a row after which the verdict
	// becomes Success; at least 1.
	Successes int32
	// Failures is the number of failed attempts in a row after which the verdict becomes
	// Failure; at least 1.
	Failures int32
}

// The defaults of the API, for probes that did not pass its defaulting.
const (
	defaultPeriod   = 10 * time.Second
	defaultTimeout  = time.Second
	defaultFailures = 3
)

// FromProbe returns the timing and the thresholds of a probe. A field that is zero or
// negative gets the API's default: period 10 s, timeout 1 s, successThreshold 1,
// failureThreshold 3, no initial delay. A timeout above the period is kept: an attempt
// that takes longer than the period skips the ticks that pass meanwhile.
func FromProbe(p *v1.Probe) Spec {
	s := Spec{
		InitialDelay: time.Duration(max(p.InitialDelaySeconds, 0)) * time.Second,
		Period:       time.Duration(p.PeriodSeconds) * time.Second,
		Timeout:      time.Duration(p.TimeoutSeconds) * time.Second,
		Successes:    max(p.SuccessThreshold, 1),
		Failures:     p.FailureThreshold,
	}
	if s.Period <= 0 {
		s.Period = defaultPeriod
	}
	if s.Timeout <= 0 {
		s.Timeout = defaultTimeout
	}
	if s.Failures <= 0 {
		s.Failures = defaultFailures
	}
	return s
}

// nextTick returns due if it is after now. If not, it returns the first of the times due+period, due+2*period
// and so on that is after now. So a probe skips missed ticks and keeps its place within the period.
func nextTick(due, now time.Time, period time.Duration) time.Time {
	late := now.Sub(due)
	if late < 0 {
		return due
	}
	return now.Add(period - late%period)
}
