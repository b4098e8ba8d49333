package podsync

import (
	"errors"
	"fmt"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// isNews reports whether people have not been told yet of the replacement of the sandbox by
// an attempt, which may take several tries.
func (l *incarnation) isNews(attempt uint32) bool {
	news := l.replaced != attempt
	l.replaced = attempt
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
		err := fmt.Errorf("podsync: back-off replacing %s of pod=%s(%s): %s", what, podmanager.FullName(v.pod), v.pod.UID, h.Reason)
		errs = append(errs, podworkers.RetryAfter(err, h.Until))
	}
	return errors.Join(errs...)
}

// contradictions tells people of what is replaced because the runtime reports
// otherwise than it was asked for: of each field once.
func (s *Syncer) contradictions(v *syncPass, decision *plan.Decision) {
	var why plan.Why
	for i := range decision.Steps {
		if op := decision.Steps[i].Op; why == "" && (op == plan.StopPod || op == plan.CreateSandbox) {
			why = decision.Steps[i].Reason
		}
	}
	if d, ok := plan.SandboxDiffers(why, v.pod, v.incarnation.number, v.madeSandbox(why)); ok && v.isContradiction(why) {
		s.contradicts(v, "", d)
	}
	for i := range decision.Steps {
		k := &decision.Steps[i]
		if k.Op != plan.StopContainer {
			continue
		}
		for name, made := range v.incarnation.made {
			rec := v.record(k.ID)
			if rec == nil || v.incarnation.decided.Started(name) != k.ID || k.Reason == plan.WhySpecChanged && !v.stillWants(name, made.Hash) {
				continue
			}
			if d, ok := plan.Differs(k.Reason, made, rec); ok {
				s.contradicts(v, name, d)
			}
		}
	}
}

// isContradiction reports whether a sandbox is replaced for what the runtime reports
// of it, and not because it died: one that is not ready may have, once.
func (v *syncPass) isContradiction(why plan.Why) bool {
	switch why {
	case plan.WhyNetworkMode, plan.WhyNoAddress:
		return true
	case plan.WhyNoSandbox, plan.WhySandboxNotReady:
		id, delayed := v.incarnation.decided.Sandbox()
		return id != "" && (delayed || why == plan.WhyNoSandbox && v.madeSandbox(why) != nil)
	}
	return false
}

// madeSandbox is the sandbox that is replaced, as the runtime reports it; nil if it
// does not.
func (v *syncPass) madeSandbox(why plan.Why) *runtime.SandboxStatus {
	id, _ := v.incarnation.decided.Sandbox()
	for i := range v.status.Sandboxes {
		if sandbox := &v.status.Sandboxes[i]; sandbox.ID == id {
			return sandbox
		}
	}
	if why == plan.WhyNoSandbox || len(v.status.Sandboxes) == 0 {
		return nil
	}
	return &v.status.Sandboxes[0] // Made by an agent before this one.
}

// stillWants reports whether a container is desired as it was made.
func (v *syncPass) stillWants(container, hash string) bool {
	c := podspec.Named(podspec.All(v.pod), container)
	return c != nil && plan.SpecHash(c) == hash
}

// contradicts tells people of one field.
func (s *Syncer) contradicts(v *syncPass, container string, d plan.Difference) {
	if key := container + "/" + d.Field; !v.incarnation.mismatches[key] {
		if v.incarnation.mismatches == nil {
			v.incarnation.mismatches = make(map[string]bool)
		}
		v.incarnation.mismatches[key] = true
		what := "sandbox"
		if container != "" {
			what = "container " + container
		}
		s.warn(v, container, eventMismatch, "The runtime reports %s=%q of the %s, which was made with %q: it is replaced", d.Field, d.Seen, what, d.Wanted)
		s.cfg.Log.Warn("the runtime reports a field otherwise than it was asked for: the sandbox or container is replaced",
			"pod", podmanager.FullName(v.pod), "uid", v.pod.UID, "container", container, "field", d.Field, "wanted", d.Wanted, "seen", d.Seen)
	}
}
