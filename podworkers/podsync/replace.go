package podsync

import (
	"errors"
	"fmt"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
)

// isNews reports whether people have not been told yet of the replacement of the sandbox by
// an attempt, which may take several tries.
func (r *reported) isNews(attempt uint32) bool {
	news := r.sandbox != attempt
	r.sandbox = attempt
	return news
}

// heldBack is the error of a pod of which something is to be replaced and waits. Nil:
// nothing is.
func (s *Syncer) heldBack(v *syncPass, d *plan.Decision) error {
	var errs []error
	for i := range d.Held {
		h := &d.Held[i]
		what := "sandbox"
		switch {
		case h.Op == plan.StartContainer:
			continue // It says so itself, when it is its turn.
		case h.Name != "":
			what = "container=" + h.Name
		}
		err := fmt.Errorf("podsync: back-off replacing %s of pod=%s(%s), next try at %s: %s",
			what, podmanager.FullName(v.pod), v.pod.UID, formatAttemptTime(h.Until), h.Reason)
		errs = append(errs, podworkers.RetryAt(err, h.Until))
	}
	return errors.Join(errs...)
}

// contradicts tells people of a field that the runtime reports otherwise than it was asked
// for, once.
func (s *Syncer) contradicts(v *syncPass, d *plan.Difference) {
	container := d.Container
	if key := container + "/" + d.Field; !v.incarnation.reported.mismatches[key] {
		if v.incarnation.reported.mismatches == nil {
			v.incarnation.reported.mismatches = make(map[string]bool)
		}
		v.incarnation.reported.mismatches[key] = true
		what := "sandbox"
		if container != "" {
			what = "container " + container
		}
		s.warn(v, container, eventMismatch, "The runtime reports %s=%q of the %s, which was made with %q: it is replaced", d.Field, d.Seen, what, d.Wanted)
		s.cfg.Log.Warn("the runtime reports a field otherwise than it was asked for: the sandbox or container is replaced",
			"pod", podmanager.FullName(v.pod), "uid", v.pod.UID, "container", container, "field", d.Field, "wanted", d.Wanted, "seen", d.Seen)
	}
}
