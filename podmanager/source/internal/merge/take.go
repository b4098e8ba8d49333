package merge

import (
	"cmp"
	"slices"
)

// Step is what a consumer takes at once: all that has changed since the last time. It holds
// no part of the Tracker that changes.
type Step struct {
	any, first bool
	told, now  []Rejected
	pods       []pair
}

// pair is a pod as the consumer has it, and as it is now; without a pod where it has none.
type pair struct{ before, now entry }

// Consume returns what has changed, and counts it as taken.
func (t *Tracker) Consume() Step {
	if !t.heard {
		return Step{}
	}
	s := Step{any: true, first: !t.taken, told: t.told, now: t.rejected}
	for uid, before := range t.dirty {
		p := pair{before: before.entry}
		if e := t.pods[uid]; e != nil {
			p.now = *e
		}
		s.pods = append(s.pods, p)
	}
	t.taken, t.told, t.dirty = true, t.rejected, nil
	return s
}

// Changes is what the consumer is told of a Step of the source with this name. It reads
// nothing but the Step.
func (s Step) Changes(source string) Changes {
	if !s.any {
		return Changes{}
	}
	c := Changes{First: s.first, Rejected: newlyRejected(s.told, s.now)}
	slices.SortFunc(s.pods, func(a, b pair) int { return cmp.Compare(a.before.place, b.before.place) })
	for _, p := range s.pods {
		if p.before.pod != nil && p.before.arrived != p.now.arrived {
			c.Remove = append(c.Remove, p.before.deliver(source))
		}
	}
	slices.SortFunc(s.pods, func(a, b pair) int { return cmp.Compare(a.now.place, b.now.place) })
	for _, p := range s.pods {
		switch {
		case p.now.pod == nil:
		case p.before.pod == nil || p.before.arrived != p.now.arrived:
			c.Add = append(c.Add, p.now.deliver(source))
		default:
			c.compare(p.before.pod, p.now, source)
		}
	}
	return c
}
