package podsync

import (
	"errors"
	"fmt"
	"time"

	"github.com/podkeel/podkeel/internal/containers"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// sandboxes is where a pod is in the loop of its sandboxes: the first replacement of
// one that was made here comes at once, the next ones after a delay that grows as that
// of a crash loop.
type sandboxes struct {
	id      string // of the newest that was made here; empty: none was
	backoff backoff.State
	counted bool   // its replacement is counted
	told    uint32 // the attempt of the last replacement that people were told of
}

// news reports whether people have not been told yet of the replacement by an attempt,
// which may take several tries.
func (b *sandboxes) news(attempt uint32) bool {
	news := b.told != attempt
	b.told = attempt
	return news
}

// sandboxNotBefore is when the next sandbox may be made. Zero: at once.
func (s *Syncer) sandboxNotBefore(v *syncPass, now time.Time) time.Time {
	b := &v.incarnation.sandbox
	if b.id == "" || b.counted {
		return time.Time{}
	}
	if wait := s.cfg.CrashLoop.Remaining(b.backoff, b.backoff.LastStart, now); wait > 0 {
		return now.Add(wait)
	}
	return time.Time{}
}

// replaces counts the replacement of a sandbox, once: one that fails is tried again
// after the backoff of any failure.
func (b *sandboxes) replaces(policy backoff.CrashLoop, now time.Time) {
	if b.id != "" && !b.counted {
		b.backoff, b.counted = policy.Next(b.backoff, now), true
	}
}

// made notes a new sandbox.
func (b *sandboxes) made(id string) { b.id, b.counted = id, false }

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
		for name, past := range v.incarnation.crashes {
			rec := v.record(k.ID)
			if rec == nil || past.start.id != k.ID || k.Reason == plan.WhySpecChanged && !v.stillWants(name, past.made.Hash) {
				continue
			}
			if d, ok := plan.Differs(k.Reason, past.made, rec); ok && past.made.Name != "" {
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
		return v.incarnation.sandbox.id != "" && (v.incarnation.sandbox.backoff.Delay > 0 || why == plan.WhyNoSandbox && v.madeSandbox(why) != nil)
	}
	return false
}

// madeSandbox is the sandbox that is replaced, as the runtime reports it; nil if it
// does not.
func (v *syncPass) madeSandbox(why plan.Why) *runtime.SandboxStatus {
	for i := range v.status.Sandboxes {
		if sandbox := &v.status.Sandboxes[i]; sandbox.ID == v.incarnation.sandbox.id {
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
	c := containers.Named(containers.All(v.pod), container)
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
