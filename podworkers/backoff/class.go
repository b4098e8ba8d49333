package backoff

// Class says why a pod has to be synced again later, and so which delay of a Retry
// applies. Package lifecycle decides it from the result of a sync.
type Class uint8

const (
	// Resync: the last sync succeeded; the next one is the periodic one.
	Resync Class = iota + 1
	// Stable: the last sync succeeded, and the next one will find nothing to do unless
	// something changes.
	Stable
	// Failed: it failed for no particular reason.
	Failed
	// Transient: it failed for a reason that tends to be over soon.
	Transient
	// RetryAt: it failed and named the time of the next attempt.
	RetryAt
	// Unavailable: the runtime did not answer. If the error names a time it is as
	// Asked, otherwise as Failed. The attempt comes sooner if the runtime answers
	// before that.
	Unavailable
)

var classNames = [...]string{Resync: "resync", Stable: "stable", Failed: "backoff", Transient: "transient", RetryAt: "retry-at", Unavailable: "runtime-unavailable"}

// String is the name of the class, as transcripts have it; "unknown" for any other value.
func (c Class) String() string {
	if c == 0 || int(c) >= len(classNames) {
		return "unknown"
	}
	return classNames[c]
}
