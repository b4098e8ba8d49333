package pleg

import (
	"slices"

	"github.com/podkeel/podkeel/pleg/internal/diff"
	"github.com/podkeel/podkeel/runtime"
)

// applyList takes a listing in. changed and aligned are what diff.Lists said
// of it.
func (t *table) applyList(number uint64, next []runtime.Pod, changed []int, aligned bool) {
	prev := t.list
	t.list, t.listed, t.merged = next, number, nil
	if aligned {
		for _, i := range changed {
			if r := t.records[next[i].UID]; r != nil {
				t.check(r)
			}
		}
	} else {
		t.align(prev, next)
	}
	unsure := t.unsure
	t.unsure = nil
	for _, r := range unsure {
		r.unsure = false
		t.check(r)
	}
	t.retryLater()
}

// align finds the place of every pod in a listing that has gained or lost some
// or is in another order, and checks those whose records differ.
func (t *table) align(prev, next []runtime.Pod) {
	for i := range next {
		if next[i].UID == "" {
			continue // A record without a pod is nobody's business here.
		}
		r := t.record(next[i].UID)
		if r.seen == t.listed {
			r.doubled = true
			t.check(r)
			continue
		}
		was := r.index
		r.seen, r.index, r.doubled = t.listed, i, false
		if was < 0 || !diff.SameRecords(&prev[was], &next[i]) {
			t.check(r)
		}
	}
	for i := range prev {
		if r := t.records[prev[i].UID]; r != nil && r.index >= 0 && r.seen != t.listed {
			r.index, r.doubled = -1, false
			t.check(r)
			t.drop(r)
		}
	}
}

// check compares a pod's status with the newest listing. Where they disagree
// an inspection begun after the listing is pending.
func (t *table) check(r *record) {
	if !t.settle(r) {
		t.ask(r, t.listed)
	}
}

// settle notes and reports whether the status of a pod agrees with the newest
// listing. Where it does not, every listing is followed by an inspection until
// it does: whichever of the two is behind, nothing can be missed.
func (t *table) settle(r *record) bool {
	agrees := t.agrees(r)
	if !agrees && !r.unsure {
		r.unsure = true
		t.unsure = append(t.unsure, r)
	}
	return agrees
}

func (t *table) agrees(r *record) bool {
	switch {
	case r.index < 0:
		return len(r.items) == 0
	case r.doubled || r.status == nil:
		return false
	}
	t.scratch = diff.ListedItems(t.scratch[:0], &t.list[r.index])
	return slices.Equal(t.scratch, r.items)
}
