package verdict

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Kind is what a probe asks.
type Kind uint8

// The kinds of probes.
const (
	// Liveness asks whether the container should be restarted.
	Liveness Kind = iota
	// Readiness asks whether it may get traffic.
	Readiness
	// Startup asks whether it has finished starting.
	Startup
)

// Kinds is how many kinds there are.
const Kinds = 3

// String is the kind as the kubelet writes it in events.
func (k Kind) String() string {
	if k < Kinds {
		return [...]string{"Liveness", "Readiness", "Startup"}[k]
	}
	return "Unknown"
}

// Value is what is believed of a container.
type Value uint8

// The values.
const (
	// Unknown is what nobody has found out yet.
	Unknown Value = iota
	// Success is what the name says.
	Success
	// Failure is what the name says.
	Failure
)

// String is the value's name.
func (v Value) String() string {
	if v <= Failure {
		return [...]string{"Unknown", "Success", "Failure"}[v]
	}
	return "Unknown"
}

// Spec is the timing of one probe, completed.
type Spec struct {
	InitialDelay time.Duration // since the container started
	Period       time.Duration
	Timeout      time.Duration // of one try
	Successes    int32         // in a row that make a Success
	Failures     int32         // in a row that make a Failure
}

// The defaults of the API, for probes that did not pass its defaulting.
const (
	defaultPeriod   = 10 * time.Second
	defaultTimeout  = time.Second
	defaultFailures = 3
)

// FromProbe is the timing that a probe asks for. What is zero or makes no
// sense gets the API's default (F26). A timeout above the period stays: the
// ticks that pass meanwhile are left out.
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

// nextTick is the first of the times due, due+period, … that is after now: a
// probe that missed ticks leaves them out and keeps its place in the period, so
// that probes spread over a period stay spread.
func nextTick(due, now time.Time, period time.Duration) time.Time {
	late := now.Sub(due)
	if late < 0 {
		return due
	}
	if late > math.MaxInt64-period {
		return now.Add(period) // Centuries late: there is no phase to keep.
	}
	return due.Add((late/period + 1) * period)
}
