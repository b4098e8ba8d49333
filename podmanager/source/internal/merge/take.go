package merge

import (
	"cmp"
	"slices"
)

// Step has the changes since the consumer's last call. It shares no mutable part of the Tracker.
type Step struct {
	hasSnapshot, first          bool
	rejectedBefore, rejectedNow []Rejected
	pods                        []podChange
}

// podChange is a pod as the consumer has it, and as it is now. An entry without a pod means that
// there is none.
type podChange struct{ consumed, current entry }

// Consume returns the changes since its last call.
func (t *Tracker) Consume() Step {
	if !t.hasSnapshot {
		return Step{}
	}
	s := Step{hasSnapshot: true, first: !t.consumed, rejectedBefore: t.rejectedConsumed, rejectedNow: t.rejected}
	for uid, before := range t.changed {
		p := podChange{consumed: before.entry}
		if e := t.pods[uid]; e != nil {
			p.current = *e
		}
		s.pods = append(s.pods, p)
	}
	t.consumed, t.rejectedConsumed, t.changed = true, t.rejected, nil
	return s
}

// Changes returns the changes of a Step for the consumer. source is the name of the Tracker's
// source. It reads only the Step.
func (s Step) Changes(source string) Changes {
	if !s.hasSnapshot {
		return Changes{}
	}
	c := Changes{First: s.first, Rejected: newlyRejected(s.rejectedBefore, s.rejectedNow)}
	slices.SortFunc(s.pods, func(a, b podChange) int { return cmp.Compare(a.consumed.place, b.consumed.place) })
	for _, p := range s.pods {
		if p.consumed.pod != nil && p.consumed.arrivalNumber != p.current.arrivalNumber {
			c.Remove = append(c.Remove, p.consumed.podWithAnnotations(source))
		}
	}
	slices.SortFunc(s.pods, func(a, b podChange) int { return cmp.Compare(a.current.place, b.current.place) })
	for _, p := range s.pods {
		switch {
		case p.current.pod == nil:
		case p.consumed.pod == nil || p.consumed.arrivalNumber != p.current.arrivalNumber:
			c.Add = append(c.Add, p.current.podWithAnnotations(source))
		default:
			c.addChange(p.consumed.pod, p.current, source)
		}
	}
	return c
}
