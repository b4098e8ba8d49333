package podsync

import (
	"errors"
	"fmt"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// setReplacementRecorded stores that an event was recorded for the sandbox attempt that replaces another
// sandbox. isFirst is false if that was stored before, so that each attempt has one event.
func (r *recordedEvents) setReplacementRecorded(attempt uint32) (isFirst bool) {
	isFirst = r.sandbox != attempt
	r.sandbox = attempt
	return isFirst
}

// replacementDelayErrors returns an error for each sandbox or container whose replacement is delayed,
// joined, with the times of the next attempts.
func (p *podSync) replacementDelayErrors(decision *plan.Decision) error {
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

// recordMismatch records an event, once, for a field that the runtime reports with another value than
// requested.
func (p *podSync) recordMismatch(diff *plan.Difference) {
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
