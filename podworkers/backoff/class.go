package backoff

// Class is the reason for which a pod is synced again later. It selects the delay of a Retry.
// Package lifecycle derives it from the result of a call.
type Class uint8

const (
	// Resync: the last call succeeded. The next one is the periodic one.
	Resync Class = iota + 1
	// Stable: the last call succeeded, and the next one will find nothing to do unless something
	// changes.
	Stable
	// Failed: the last call failed.
	Failed
	// Transient: the last call failed for a reason that should be over soon.
	Transient
	// RetryAt: the last call failed and named the time of the next attempt.
	RetryAt
	// Unavailable: the runtime did not answer. If the error names a time, the delay is the same as
	// for RetryAt, otherwise the same as for Failed. The attempt is made earlier if the runtime
	// answers before.
	Unavailable
)

var classNames = [...]string{Resync: "resync", Stable: "stable", Failed: "backoff", Transient: "transient", RetryAt: "retry-at", Unavailable: "runtime-unavailable"}

// String returns the name of the class, and "unknown" for any other value.
func (c Class) String() string {
	if c == 0 || int(c) >= len(classNames) {
		return "unknown"
	}
	return classNames[c]
}
