package refresh

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// Grace is how long a sync has to bring a change to the files.
	Grace = time.Second
	// firstPause follows a refresh that has failed, doubled each time, lastPause at most.
	firstPause = 2 * time.Second
	lastPause  = time.Minute
)

// State is what becomes of the volumes of a pod.
type State uint8

const (
	// Standing: they are there, and nothing is done about them.
	Standing State = iota
	// SettingUp: a SetUp is under way.
	SettingUp
	// TearingDown: a TearDown is under way, or has failed.
	TearingDown
)

// Table has the pods whose volumes have files that can change. The zero value has none. It is
// not safe for concurrent use.
type Table struct{ pods map[types.UID]*pod }

// pod is what is known of one.
type pod struct {
	state    State
	changed  uint64 // how many changes there were
	covered  uint64 // how many of them the files show
	settled  uint64 // how many there were when the SetUp under way began
	began    uint64 // how many there were when the refresh under way began
	running  bool   // a refresh is under way
	failures int
	due      time.Time // zero: never
}

// SetUp notes that a SetUp begins. running: the refresh under way is to be cancelled.
func (t *Table) SetUp(uid types.UID) (running bool) {
	if t.pods == nil {
		t.pods = map[types.UID]*pod{}
	}
	p := t.pods[uid]
	if p == nil {
		p = &pod{}
		t.pods[uid] = p
	}
	p.state, p.settled = SettingUp, p.changed
	return p.running
}

// IsUp notes how a SetUp has ended.
func (t *Table) IsUp(uid types.UID, ok bool) {
	if p := t.pods[uid]; p != nil && p.state == SettingUp {
		p.state = Standing
		p.cover(p.settled, ok)
	}
}

// TearDown notes that a TearDown begins. running: the refresh under way is to be cancelled.
func (t *Table) TearDown(uid types.UID) (running bool) {
	p := t.pods[uid]
	if p == nil {
		return false
	}
	p.state = TearingDown
	return p.running
}

// TornDown notes that a TearDown has succeeded, or that the pod is not known any more.
func (t *Table) TornDown(uid types.UID) { delete(t.pods, uid) }

// Changed notes that what the files of a pod are made of has changed.
func (t *Table) Changed(uid types.UID, now time.Time) {
	p := t.pods[uid]
	if p == nil || p.state == TearingDown {
		return
	}
	p.changed++
	p.failures = 0
	if at := now.Add(Grace); p.due.IsZero() || at.Before(p.due) {
		p.due = at
	}
}

// Begin returns the pods whose files are to be refreshed now, in order, and notes that this
// has begun.
func (t *Table) Begin(now time.Time) (due []types.UID) {
	for uid, p := range t.pods {
		if p.may() && !now.Before(p.due) {
			p.running, p.began = true, p.changed
			due = append(due, uid)
		}
	}
	slices.Sort(due)
	return due
}

// End notes how a refresh has ended.
func (t *Table) End(uid types.UID, ok bool, now time.Time) {
	p := t.pods[uid]
	if p == nil || !p.running {
		return
	}
	p.running = false
	p.cover(p.began, ok)
	if p.due.IsZero() {
		return
	}
	p.due = now.Add(Grace)
	if !ok {
		p.due = now.Add(min(firstPause<<min(p.failures, 10), lastPause))
		p.failures++
	}
}

// Next is when Begin has something to return; zero: nothing by itself.
func (t *Table) Next() (next time.Time) {
	for _, p := range t.pods {
		if p.may() && (next.IsZero() || p.due.Before(next)) {
			next = p.due
		}
	}
	return next
}

// may reports whether a refresh may begin when it is due.
func (p *pod) may() bool { return p.state == Standing && !p.running && !p.due.IsZero() }

// cover notes that the files show so many changes.
func (p *pod) cover(changes uint64, ok bool) {
	if ok {
		p.covered = max(p.covered, changes)
	}
	if p.covered == p.changed {
		p.due, p.failures = time.Time{}, 0
	}
}
