package pleg

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg/internal/diff"
	"github.com/podkeel/podkeel/runtime"
)

// Get implements runtime.StatusCache. The status is never nil; for an unknown pod it has only the
// UID. If the newest inspection failed, Get returns its error with the last status that was read.
// ErrUnobserved means that the pod was not inspected yet: it may be running.
func (p *PLEG) Get(uid types.UID) (*runtime.PodStatus, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	status, err, observed := p.mu.table.findStatusNewerThan(uid, 0)
	if err == nil && !observed {
		err = ErrUnobserved
	}
	return status, err
}

// Mark implements runtime.StatusCache.
func (p *PLEG) Mark() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.table.number
}

// RequestRelist implements runtime.RelistRequester. After it, only an inspection that begins later
// satisfies a reader of this pod, and a listing does not. A caller that has just changed a pod
// calls RequestRelist before Mark.
func (p *PLEG) RequestRelist(uid types.UID) {
	if uid == "" {
		return
	}
	p.mu.Lock()
	t := &p.mu.table
	t.requestInspection(t.ensureRecord(uid), t.number)
	p.mu.Unlock()
	p.wake.Signal()
}

// NewerThan implements runtime.StatusCache. If there is no observation above mark, it requests one
// and waits for it. For a pod that does not exist it returns an empty status. The error is the
// inspection's error, the error of ctx, or ErrStopped; with an error the status is nil. A mark
// above Mark() counts as Mark().
func (p *PLEG) NewerThan(ctx context.Context, uid types.UID, mark uint64) (*runtime.PodStatus, error) {
	w, status, err := p.statusOrAddWaiter(uid, mark)
	if w == nil {
		if err != nil {
			return nil, err
		}
		return status, nil
	}
	p.wake.Signal()
	if err := w.latch.Wait(ctx); err != nil {
		p.removeWaiter(uid, w)
		return nil, err
	}
	return w.status, w.err
}

// statusOrAddWaiter returns the cached status of a pod, or the error of its last inspection, if that
// observation is newer than the sequence number newerThan. For an older observation it requests an inspection
// and returns a waiter for the result. If the PLEG has stopped, it returns ErrStopped instead of a waiter.
func (p *PLEG) statusOrAddWaiter(uid types.UID, newerThan uint64) (w *waiter, status *runtime.PodStatus, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &p.mu.table
	newerThan = min(newerThan, t.number)
	status, err, ok := t.findStatusNewerThan(uid, newerThan)
	if ok {
		return nil, status, err
	}
	if p.mu.state == stopped {
		return nil, nil, ErrStopped
	}
	r := t.ensureRecord(uid)
	t.waiterCount++
	w = &waiter{sequence: t.waiterCount, mark: newerThan, latch: p.executor.NewLatch()}
	r.waiters = append(r.waiters, w)
	t.requestInspection(r, newerThan)
	return w, nil, nil
}

// removeWaiter removes a reader's waiter from the cache entry of its pod. It deletes the entry if nothing else
// needs it.
func (p *PLEG) removeWaiter(uid types.UID, w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.mu.table.records[uid]
	if r == nil {
		return
	}
	for i := range r.waiters {
		if r.waiters[i] == w {
			r.waiters = append(r.waiters[:i], r.waiters[i+1:]...)
			break
		}
	}
	p.mu.table.deleteRecordIfGone(r)
}

// Pods implements Snapshot.
func (p *PLEG) Pods() []runtime.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.table.listedPodsWithLaterInspections()
}

// listedPodsWithLaterInspections returns the pods of the newest listing, updated with the inspections that
// began later. With a working event stream, listings are half a minute apart, and housekeeping must not use the
// old list. The result is cached until the next successful inspection or listing.
func (t *table) listedPodsWithLaterInspections() []runtime.Pod {
	if t.newestInspection <= t.listNumber {
		return t.list
	}
	if t.merged == nil {
		t.merged = t.mergeInspections()
	}
	return t.merged
}

// mergeInspections returns the listing, with each pod replaced by its status if an inspection read that later.
// Pods that a later inspection found empty are left out. Pods that are not listed but were found later are
// appended in order of UID.
func (t *table) mergeInspections() []runtime.Pod {
	merged := make([]runtime.Pod, 0, len(t.list)+1)
	for i := range t.list {
		r := t.records[t.list[i].UID]
		switch {
		case r == nil || !t.isNewerThanList(r):
			merged = append(merged, t.list[i])
		case r.index == i && !diff.Empty(r.status): // a pod that is listed twice is added once
			merged = append(merged, r.status.Pod())
		}
	}
	listed := len(merged)
	for _, r := range t.records {
		if r.index < 0 && t.isNewerThanList(r) && !diff.Empty(r.status) {
			merged = append(merged, r.status.Pod())
		}
	}
	slices.SortFunc(merged[listed:], func(a, b runtime.Pod) int { return cmp.Compare(a.UID, b.UID) })
	return merged
}

// isNewerThanList reports whether the inspection that read the pod's status began after the newest successful
// listing. A later inspection that failed does not matter.
func (t *table) isNewerThanList(r *record) bool { return r.statusNumber > t.listNumber }
