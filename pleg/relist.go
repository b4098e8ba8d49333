package pleg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg/internal/diff"
	"github.com/podkeel/podkeel/runtime"
)

// Relist is a single step, for callers that do not call Run. It lists all pods and inspects those
// that need it, each within its deadline, and returns when all of them are inspected. It returns
// the error of the listing, or the error of ctx. After an error of the listing only requested pods
// are inspected. If ctx ends first, the next step continues with the pending inspections. A failed
// inspection is not an error of the step. Relist returns ErrRunning while Run or another Relist is
// running.
func (p *PLEG) Relist(ctx context.Context) error {
	if err := p.beginRun(stepping); err != nil {
		return err
	}
	defer p.endRun(idle)
	err := p.listPods(ctx)
	p.inspectPending(ctx)
	return cmp.Or(err, ctx.Err())
}

// listPods makes one listing and stores it. After an error only the health changes.
func (p *PLEG) listPods(ctx context.Context) error {
	number, began, prev := p.beginList()
	call, cancel := p.executor.WithDeadline(ctx, began.Add(p.cfg.ListTimeout))
	pods, err := p.cfg.Runtime.ListPods(call)
	cancel()
	if isInterrupted(ctx, err) {
		p.recordListFailure(nil)
		return err
	}
	if err != nil {
		err = fmt.Errorf("pleg: list: %w", err)
		p.recordListFailure(err)
		p.callRelistedHook(Relisting{Number: number, Took: p.executor.Now().Sub(began), Err: err})
		return err
	}
	mismatched := p.storeList(number, began, prev, pods)
	p.callRelistedHook(Relisting{Number: number, Took: p.executor.Now().Sub(began), Pods: len(pods), Mismatched: mismatched})
	return nil
}

// beginList returns the number of a new listing, the time, and the listing before.
func (p *PLEG) beginList() (number uint64, began time.Time, prev []runtime.Pod) {
	now := p.executor.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.schedule.beginList(now)
	p.mu.table.strangers.listAt = time.Time{} // The listing shows the deferred strangers.
	return p.mu.table.nextNumber(), now, p.mu.table.list
}

// storeList stores a successful listing and returns the number of pods whose status differs from
// it. It compares the listing with the one before without the lock, because listings do not
// overlap.
func (p *PLEG) storeList(number uint64, began time.Time, prev, next []runtime.Pod) (mismatched int) {
	var sameOrder bool
	p.changed, sameOrder = diff.Lists(p.changed[:0], prev, next)
	now := p.executor.Now()
	p.mu.Lock()
	p.mu.table.storeList(number, next, p.changed, sameOrder)
	mismatched = len(p.mu.table.mismatched)
	recovered := p.mu.schedule.recordSuccess(began, now, number)
	p.mu.Unlock()
	if recovered {
		p.cfg.Log.Info("the runtime lists its pods again")
	}
	return mismatched
}

// recordListFailure records the error of a listing. A nil error is a listing that the PLEG itself
// cancelled.
func (p *PLEG) recordListFailure(err error) {
	now := p.executor.Now()
	p.mu.Lock()
	onset := p.mu.schedule.recordFailure(now, err)
	p.mu.Unlock()
	if onset {
		p.cfg.Log.Warn("the runtime cannot list its pods; no pod is treated as gone", "err", err)
	}
}

// callRelistedHook calls Hooks.Relisted.
func (p *PLEG) callRelistedHook(r Relisting) {
	p.cfg.Hooks.Relisted(r)
}

// isInterrupted reports whether a call failed because the PLEG is stopping. Such an error says
// nothing about the runtime.
func isInterrupted(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, executor.ErrCrashed))
}

// storeList stores a listing and requests the inspections that it requires, and all waiting
// retries. changed and sameOrder are the results of diff.Lists: if the listing has the same UIDs at
// the same indexes as the one before, only the changed pods are compared with the cache.
func (t *table) storeList(number uint64, next []runtime.Pod, changed []int, sameOrder bool) {
	prev := t.list
	t.list, t.listNumber, t.merged = next, number, nil
	if sameOrder {
		for _, i := range changed {
			if r := t.records[next[i].UID]; r != nil {
				t.requestIfMismatched(r)
			}
		}
	} else {
		t.indexList(prev, next)
	}
	previouslyMismatched := t.mismatched
	t.mismatched = nil
	for _, r := range previouslyMismatched {
		r.isMismatched = false
		t.requestIfMismatched(r)
	}
	t.requestRetries()
}

// indexList sets the index of every pod in a listing that has other pods, or another order, than
// the one before. It checks the pods whose records differ.
func (t *table) indexList(prev, next []runtime.Pod) {
	for i := range next {
		if next[i].UID == "" {
			continue // A sandbox without a pod UID is ignored.
		}
		r := t.ensureRecord(next[i].UID)
		if r.indexedInList == t.listNumber {
			r.listedTwice = true
			t.requestIfMismatched(r)
			continue
		}
		was := r.index
		r.indexedInList, r.index, r.listedTwice = t.listNumber, i, false
		if was < 0 || !diff.SameRecords(&prev[was], &next[i]) {
			t.requestIfMismatched(r)
		}
	}
	for i := range prev {
		if r := t.records[prev[i].UID]; r != nil && r.index >= 0 && r.indexedInList != t.listNumber {
			r.index, r.listedTwice = -1, false
			t.requestIfMismatched(r)
			t.dropIfGone(r)
		}
	}
}

// requestIfMismatched compares a pod's status with the newest listing. If they differ it requests
// an inspection that begins after the listing, and adds the pod to t.mismatched.
func (t *table) requestIfMismatched(r *record) {
	if t.addIfMismatched(r) {
		t.requestInspection(r, t.listNumber)
	}
}

// addIfMismatched adds the pod to t.mismatched and returns true, if its status differs from the
// newest listing. The next listing compares the pod again and requests another inspection, until
// both agree. So no change is missed, whichever of the two is out of date. Only storeList removes
// pods from t.mismatched.
func (t *table) addIfMismatched(r *record) (mismatched bool) {
	if t.matchesList(r) {
		return false
	}
	if !r.isMismatched {
		r.isMismatched = true
		t.mismatched = append(t.mismatched, r)
	}
	return true
}

// matchesList reports whether the status of a pod has the same records and states as the newest
// listing.
func (t *table) matchesList(r *record) bool {
	switch {
	case r.index < 0:
		return diff.Empty(r.status)
	case r.listedTwice || r.status == nil:
		return false
	}
	t.scratch[0], t.scratch[1] = diff.ListedItems(t.scratch[0][:0], &t.list[r.index]), diff.Items(t.scratch[1][:0], r.status)
	return slices.Equal(t.scratch[0], t.scratch[1])
}
