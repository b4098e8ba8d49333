package podsync

import (
	"errors"
	"fmt"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// isNewReplacement reports whether no event was recorded yet for the replacement of the sandbox by an
// attempt. It returns true once for each attempt.
func (r *reported) isNewReplacement(attempt uint32) bool {
	news := r.sandbox != attempt
	r.sandbox = attempt
	return news
}

// heldReplacements returns an error if a sandbox or a container of the pod is to be replaced and waits.
func (p *podSync) heldReplacements(d *plan.Decision) error {
	var errs []error
	for i := range d.Held {
		h := &d.Held[i]
		what := "sandbox"
		switch {
		case h.Op == plan.StartContainer:
			continue // containerStart.start returns its error.
		case h.Name != "":
			what = "container=" + h.Name
		}
		err := fmt.Errorf("podsync: back-off replacing %s of pod=%s(%s), next try at %s: %s",
			what, podmanager.FullName(p.pod), p.pod.UID, formatAttemptTime(h.Until), h.Reason)
		errs = append(errs, podworkers.RetryAt(err, h.Until))
	}
	return errors.Join(errs...)
}

// reportMismatch records an event for a field whose reported value differs from the requested one, once.
func (p *podSync) reportMismatch(d *plan.Difference) {
	container := d.Container
	if key := container + "/" + d.Field; !p.incarnation.reported.mismatches[key] {
		if p.incarnation.reported.mismatches == nil {
			p.incarnation.reported.mismatches = make(map[string]bool)
		}
		p.incarnation.reported.mismatches[key] = true
		what := "sandbox"
		if container != "" {
			what = "container " + container
		}
		p.recordWarning(container, eventMismatch, "The runtime reports %s=%q of the %s, which was made with %q: it is replaced", d.Field, d.Seen, what, d.Wanted)
		p.cfg.Log.Warn("the runtime reports a field otherwise than it was asked for: the sandbox or container is replaced",
			"pod", podmanager.FullName(p.pod), "uid", p.pod.UID, "container", container, "field", d.Field, "wanted", d.Wanted, "seen", d.Seen)
	}
}
