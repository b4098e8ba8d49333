package refresh

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// Grace is how long a sync has to bring a change to the files.
	Grace = time.Second
	// SetUpGrace is how long a SetUp has to bring it there before a refresh begins beside it.
	SetUpGrace = 5 * time.Second
	// firstPause follows a refresh that has failed, doubled each time, lastPause at most.
	firstPause = 2 * time.Second
	lastPause  = time.Minute
	// MaxRefreshes is how many are under way at once.
	MaxRefreshes = 16
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
type Table struct {
	pods map[types.UID]*pod
	due  map[types.UID]*pod // those with a time when they are; few of many
	runs int                // how many refreshes are under way
}

// pod is what is known of one.
type pod struct {
	state    State
	changed  uint64    // how many changes there were
	covered  uint64    // how many of them the files show
	settled  uint64    // how many there were when the SetUp under way began
	began    uint64    // how many there were when the refresh under way began
	running  bool      // a refresh is under way
	adopted  bool      // it was not set up since the Table began; what there is of it is older
	since    time.Time // when the SetUp under way began
	failures int
	due      time.Time // zero: never
}

// pod is what is known of one, and of one that is new.
func (t *Table) pod(uid types.UID) *pod {
	p := t.pods[uid]
	if p != nil {
		return p
	}
	if t.pods == nil {
		t.pods, t.due = map[types.UID]*pod{}, map[types.UID]*pod{}
	}
	p = &pod{}
	t.pods[uid] = p
	return p
}

// SetUp notes that a SetUp begins. running: the refresh under way is to be cancelled.
func (t *Table) SetUp(uid types.UID, now time.Time) (running bool) {
	p := t.pod(uid)
	p.state, p.settled, p.since, p.adopted = SettingUp, p.changed, now, false
	return p.running
}

// IsUp notes how a SetUp has ended. news: Next may be sooner.
func (t *Table) IsUp(uid types.UID, ok bool) (news bool) {
	p := t.pods[uid]
	if p == nil || p.state != SettingUp {
		return false
	}
	p.state = Standing
	t.cover(uid, p.settled, ok)
	return !p.at().IsZero()
}

// TearDown notes that a TearDown begins. running: the refresh under way is to be cancelled.
func (t *Table) TearDown(uid types.UID) (running bool) {
	p := t.pod(uid)
	p.state = TearingDown
	return p.running
}

// TornDown notes that a TearDown has succeeded, or that the pod is not known any more.
func (t *Table) TornDown(uid types.UID) {
	if p := t.pods[uid]; p != nil && p.running {
		t.runs--
	}
	delete(t.pods, uid)
	delete(t.due, uid)
}

// Changed notes that what the files of a pod are made of has changed, or is known for the first
// time. Of a pod that was not set up there may be older files. news: Next may be sooner.
func (t *Table) Changed(uid types.UID, now time.Time) (news bool) {
	known := t.pods[uid] != nil
	p := t.pod(uid)
	if p.state == TearingDown {
		return false
	}
	p.adopted = p.adopted || !known
	p.changed++
	p.failures = 0
	t.due[uid] = p
	if at := now.Add(Grace); p.due.IsZero() || at.Before(p.due) {
		p.due = at
		news = !p.at().IsZero()
	}
	return news
}

// Begin returns the pods whose files are to be refreshed now, in order, and notes that this
// has begun. No more than MaxRefreshes are under way: others follow as these end.
func (t *Table) Begin(now time.Time) (due []types.UID) {
	for uid, p := range t.due {
		if at := p.at(); !at.IsZero() && !now.Before(at) {
			due = append(due, uid)
		}
	}
	slices.Sort(due)
	due = due[:min(len(due), MaxRefreshes-t.runs)]
	for _, uid := range due {
		p := t.pods[uid]
		p.running, p.began = true, p.changed
	}
	t.runs += len(due)
	return due
}

// End notes how a refresh has ended.
func (t *Table) End(uid types.UID, ok bool, now time.Time) {
	p := t.pods[uid]
	if p == nil || !p.running {
		return
	}
	p.running = false
	t.runs--
	t.cover(uid, p.began, ok)
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
	if t.runs == MaxRefreshes {
		return next
	}
	for _, p := range t.due {
		if at := p.at(); next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

// at is when a refresh may begin; zero: not by itself.
func (p *pod) at() time.Time {
	switch hangs := p.since.Add(SetUpGrace); {
	case p.running || p.state == TearingDown:
		return time.Time{}
	case p.state == SettingUp && !p.due.IsZero() && p.due.Before(hangs):
		return hangs
	}
	return p.due
}

// cover notes that the files show so many changes.
func (t *Table) cover(uid types.UID, changes uint64, ok bool) {
	p := t.pods[uid]
	if ok {
		p.covered = max(p.covered, changes)
	}
	if p.covered == p.changed {
		p.due, p.failures = time.Time{}, 0
		delete(t.due, uid)
		if p.adopted {
			delete(t.pods, uid)
		}
	}
}
