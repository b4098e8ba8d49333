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
	defer p.setStateAndStopWaitersIfStopped(idle)
	err := p.listPods(ctx)
	p.inspectPending(ctx)
	return cmp.Or(err, ctx.Err())
}

// listPods lists the pods of the runtime once, stores the list and calls Hooks.Relisted. An error leaves the
// stored list unchanged and is recorded for the health check. A listing that is cancelled because the PLEG is
// stopping calls no hook.
func (p *PLEG) listPods(ctx context.Context) error {
	number, began, prev := p.recordListBeginAndCancelExtraList()
	call, cancel := p.executor.WithDeadline(ctx, began.Add(p.cfg.ListTimeout))
	pods, err := p.cfg.Runtime.ListPods(call)
	cancel()
	if isInterrupted(ctx, err) {
		p.recordAndLogListFailure(nil)
		return err
	}
	if err != nil {
		err = fmt.Errorf("pleg: list: %w", err)
		p.recordAndLogListFailure(err)
		p.callRelistedHook(Relisting{Number: number, Took: p.executor.Now().Sub(began), Err: err})
		return err
	}
	mismatched := p.storeList(number, began, prev, pods)
	p.callRelistedHook(Relisting{Number: number, Took: p.executor.Now().Sub(began), Pods: len(pods), Mismatched: mismatched})
	return nil
}

// recordListBeginAndCancelExtraList records that a listing is in flight. It returns the new listing's sequence
// number, the current time, and the stored list. It also cancels the extra listing for pods that only a runtime
// event has named, because this listing shows them.
func (p *PLEG) recordListBeginAndCancelExtraList() (number uint64, began time.Time, prev []runtime.Pod) {
	now := p.executor.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.schedule.recordListBegin(now)
	p.mu.table.unknownPods.listAt = time.Time{} // The listing shows the deferred unknown pods.
	return p.mu.table.nextNumber(), now, p.mu.table.list
}

// storeList stores a successful listing and returns how many pods have a cached status that differs from it. It
// requests inspections of those pods and of pods that wait for a retry, and logs if the previous listing had
// failed. The lists are compared without the lock, because listings do not overlap.
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

// recordAndLogListFailure records that a listing failed with err, and logs the first failure in a row. With a
// nil error it only records that the PLEG cancelled the listing.
func (p *PLEG) recordAndLogListFailure(err error) {
	now := p.executor.Now()
	p.mu.Lock()
	onset := p.mu.schedule.recordFailure(now, err)
	p.mu.Unlock()
	if onset {
		p.cfg.Log.Warn("the runtime cannot list its pods; no pod is treated as gone", "err", err)
	}
}

// callRelistedHook calls Hooks.Relisted with r.
func (p *PLEG) callRelistedHook(r Relisting) {
	p.cfg.Hooks.Relisted(r)
}

// isInterrupted reports whether a call failed because the PLEG is stopping or its simulated node has crashed.
// Such an error says nothing about the runtime.
func isInterrupted(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, executor.ErrCrashed))
}

// storeList replaces the stored list by next. It requests an inspection of each pod whose status differs from
// the list, and of each pod that waits for a retry. changed and sameOrder are results of diff.Lists: if next
// has the same UIDs at the same indexes as before, only the changed pods, and those that differed before, are
// compared with the cache.
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
		t.indexListAndRequestMismatched(prev, next)
	}
	previouslyMismatched := t.mismatched
	t.mismatched = nil
	for _, r := range previouslyMismatched {
		r.isMismatched = false
		t.requestIfMismatched(r)
	}
	t.requestRetries()
}

// indexListAndRequestMismatched stores each listed pod's index in its cache entry, and creates missing entries.
// It is used if a listing has other pods, or another order, than the previous one. It requests an inspection of
// pods that are new, changed, listed twice or no longer listed, if their status differs from the listing.
func (t *table) indexListAndRequestMismatched(prev, next []runtime.Pod) {
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
			t.deleteRecordIfGone(r)
		}
	}
}

// requestIfMismatched compares a pod's status with the newest listing. If they differ, it requests an
// inspection that begins after that listing, and adds the pod to t.mismatched.
func (t *table) requestIfMismatched(r *record) {
	if t.addIfMismatched(r) {
		t.requestInspection(r, t.listNumber)
	}
}

// addIfMismatched adds the pod to t.mismatched if its status differs from the newest listing, and reports
// whether it differs. The next listing compares the pod again, because either the status or the listing may be
// out of date. Only storeList removes pods from t.mismatched.
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

// matchesList reports whether a pod's status has the same sandboxes and containers, in the same states, as the
// newest listing. A pod that is not listed matches if its status is empty. A pod that is listed twice, or that
// is listed and has no status, does not match.
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
