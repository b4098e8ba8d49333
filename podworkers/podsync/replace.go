package podsync

import (
	"errors"
	"fmt"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// setReplacementRecorded stores that the event for the replacement of the sandbox was recorded for a sandbox
// attempt. isFirst is false if the same attempt is already stored.
func (r *recordedEvents) setReplacementRecorded(attempt uint32) (isFirst bool) {
	isFirst = r.sandbox != attempt
	r.sandbox = attempt
	return isFirst
}

// replacementDelayError returns one joined error for all replacements of the sandbox or of containers that the
// decision delays, each with the time of the next attempt. It skips delayed starts. It returns nil if no
// replacement is delayed.
func (p *podSync) replacementDelayError(decision *plan.Decision) error {
	var errs []error
	for i := range decision.Held {
		h := &decision.Held[i]
		what := "sandbox"
		switch {
		case h.Op == plan.StartContainer:
			continue // startUnlessDelayed returns the error of a container.
		case h.Name != "":
			what = "container=" + h.Name
		}
		err := fmt.Errorf("podsync: back-off replacing %s of pod=%s(%s), next try at %s: %s",
			what, podmanager.FullName(p.pod), p.pod.UID, formatAttemptTime(h.Until), h.Reason)
		errs = append(errs, podworkers.RetryAt(err, h.Until))
	}
	return errors.Join(errs...)
}

// recordRuntimeMismatchOncePerField records a Warning event and a log line about a field for which the runtime
// reports another value than requested. It does so only once for each container and field.
func (p *podSync) recordRuntimeMismatchOncePerField(diff *plan.Difference) {
	container := diff.Container
	if key := container + "/" + diff.Field; !p.incarnation.recordedEvents.mismatches[key] {
		if p.incarnation.recordedEvents.mismatches == nil {
			p.incarnation.recordedEvents.mismatches = make(map[string]bool)
		}
		p.incarnation.recordedEvents.mismatches[key] = true
		what := "sandbox"
		if container != "" {
			what = "container " + container
		}
		p.recordWarning(container, eventMismatch, "The runtime reports %s=%q of the %s, which was made with %q: it is replaced", diff.Field, diff.Seen, what, diff.Wanted)
		p.cfg.Log.Warn("the runtime reports another value of a field than requested: the sandbox or container is replaced",
			"pod", podmanager.FullName(p.pod), "uid", p.pod.UID, "container", container, "field", diff.Field, "wanted", diff.Wanted, "seen", diff.Seen)
	}
}
