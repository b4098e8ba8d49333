package refresh

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// Grace is the delay of a refresh after a change. Before that a sync may update the files.
	Grace = time.Second
	// SetUpGrace is how long a SetUp must have been running before a refresh begins beside it.
	SetUpGrace = 5 * time.Second
	// firstRetryDelay is the delay after the first failed refresh. Each failure doubles it, up to maxRetryDelay.
	firstRetryDelay = 2 * time.Second
	maxRetryDelay   = time.Minute
	// MaxRefreshes is how many refreshes run at the same time.
	MaxRefreshes = 16
)

// State is the state of the volumes of a pod.
type State uint8

const (
	// Ready: the volumes are set up, and no SetUp or TearDown runs.
	Ready State = iota
	// SettingUp: a SetUp runs.
	SettingUp
	// TearingDown: a TearDown runs or has failed.
	TearingDown
)

// Table has the pods whose volumes have files that can change. The zero value is empty. It is not safe
// for concurrent use.
type Table struct {
	pods    map[types.UID]*podState
	due     map[types.UID]*podState // the pods whose due time is set
	running int                     // the number of refreshes that run
}

// podState is the state of one pod in the table.
type podState struct {
	state            State
	changes          uint64    // the number of changes so far
	coveredChanges   uint64    // the number of changes that the files show
	changesAtSetUp   uint64    // the number of changes when the running SetUp began
	changesAtRefresh uint64    // the number of changes when the running refresh began
	refreshing       bool      // a refresh runs
	fromEarlierAgent bool      // this agent has not set the pod up; an earlier agent may have
	setUpBegan       time.Time // when the running SetUp began
	failures         int       // the failed refreshes in a row
	due              time.Time // when a refresh is due; zero: never
}

// getOrAddPod returns the refresh state of a pod. It adds an empty state if the table does not have the pod.
func (t *Table) getOrAddPod(uid types.UID) *podState {
	p := t.pods[uid]
	if p != nil {
		return p
	}
	if t.pods == nil {
		t.pods, t.due = map[types.UID]*podState{}, map[types.UID]*podState{}
	}
	p = &podState{}
	t.pods[uid] = p
	return p
}

// SetUpBegan records that a SetUp begins. If running is true the caller must cancel the running
// refresh.
func (t *Table) SetUpBegan(uid types.UID, now time.Time) (running bool) {
	p := t.getOrAddPod(uid)
	p.state, p.changesAtSetUp, p.setUpBegan, p.fromEarlierAgent = SettingUp, p.changes, now, false
	return p.refreshing
}

// SetUpEnded records that a SetUp has ended, and whether it has succeeded. If news is true, NextDue may
// be sooner than before.
func (t *Table) SetUpEnded(uid types.UID, ok bool) (news bool) {
	p := t.pods[uid]
	if p == nil || p.state != SettingUp {
		return false
	}
	p.state = Ready
	t.recordCoveredChangesAndCancelRefresh(uid, p.changesAtSetUp, ok)
	return !p.dueAt().IsZero()
}

// TearDownBegan records that a TearDown begins. If running is true the caller must cancel the running
// refresh.
func (t *Table) TearDownBegan(uid types.UID) (running bool) {
	p := t.getOrAddPod(uid)
	p.state = TearingDown
	return p.refreshing
}

// Remove removes a pod from the table: its TearDown has succeeded, or the pod is no longer known.
func (t *Table) Remove(uid types.UID) {
	if p := t.pods[uid]; p != nil && p.refreshing {
		t.running--
	}
	delete(t.pods, uid)
	delete(t.due, uid)
}

// VolumesChanged records that the content of a pod's files may have changed. Call it also when the pod
// is seen for the first time, because it may have files of an earlier agent. If news is true, NextDue
// may be sooner than before.
func (t *Table) VolumesChanged(uid types.UID, now time.Time) (news bool) {
	known := t.pods[uid] != nil
	p := t.getOrAddPod(uid)
	if p.state == TearingDown {
		return false
	}
	p.fromEarlierAgent = p.fromEarlierAgent || !known
	p.changes++
	p.failures = 0
	t.due[uid] = p
	if at := now.Add(Grace); p.due.IsZero() || at.Before(p.due) {
		p.due = at
		news = !p.dueAt().IsZero()
	}
	return news
}

// StartDue returns the pods whose refresh is due, in order, and records that their refreshes begin. At
// most MaxRefreshes run at the same time. The other pods follow when these refreshes end.
func (t *Table) StartDue(now time.Time) (due []types.UID) {
	for uid, p := range t.due {
		if at := p.dueAt(); !at.IsZero() && !now.Before(at) {
			due = append(due, uid)
		}
	}
	slices.Sort(due)
	due = due[:min(len(due), MaxRefreshes-t.running)]
	for _, uid := range due {
		p := t.pods[uid]
		p.refreshing, p.changesAtRefresh = true, p.changes
	}
	t.running += len(due)
	return due
}

// RefreshEnded records that a refresh has ended, and whether it has succeeded.
func (t *Table) RefreshEnded(uid types.UID, ok bool, now time.Time) {
	p := t.pods[uid]
	if p == nil || !p.refreshing {
		return
	}
	p.refreshing = false
	t.running--
	t.recordCoveredChangesAndCancelRefresh(uid, p.changesAtRefresh, ok)
	if p.due.IsZero() {
		return
	}
	p.due = now.Add(Grace)
	if !ok {
		p.due = now.Add(min(firstRetryDelay<<min(p.failures, 10), maxRetryDelay))
		p.failures++
	}
}

// NextDue returns the time when StartDue has something to return. Zero means that there is no such time
// before the next change.
func (t *Table) NextDue() (next time.Time) {
	if t.running == MaxRefreshes {
		return next
	}
	for _, p := range t.due {
		if at := p.dueAt(); next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

// dueAt returns the time from which a refresh of the pod's volume files may begin. While a SetUp of the volumes
// runs, that time is later than the planned time. It returns zero if no refresh is planned, if a refresh is
// running, or if a TearDown has begun.
func (p *podState) dueAt() time.Time {
	switch hangs := p.setUpBegan.Add(SetUpGrace); {
	case p.refreshing || p.state == TearingDown:
		return time.Time{}
	case p.state == SettingUp && !p.due.IsZero() && p.due.Before(hangs):
		return hangs
	}
	return p.due
}

// recordCoveredChangesAndCancelRefresh records how many of a pod's changes the files in its volumes show, if
// succeeded is true. changes is that number; a lower number than the recorded one changes nothing. If the files
// show all changes of the pod, it cancels the planned refresh. It then also deletes the pod from the table if
// an earlier agent set up its volumes and this agent has not.
func (t *Table) recordCoveredChangesAndCancelRefresh(uid types.UID, changes uint64, succeeded bool) {
	p := t.pods[uid]
	if succeeded {
		p.coveredChanges = max(p.coveredChanges, changes)
	}
	if p.coveredChanges == p.changes {
		p.due, p.failures = time.Time{}, 0
		delete(t.due, uid)
		if p.fromEarlierAgent {
			delete(t.pods, uid)
		}
	}
}
