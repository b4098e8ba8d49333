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

// Relist is a single step, for callers that do not call Run: it lists all
// pods, inspects those that need it, each within its deadline, and
// returns when all of that is done. Its error is that of the listing, from
// which nothing has been concluded then (pods that were asked for are
// inspected all the same), or that of ctx if it ended first: what is still
// pending then is done by the next step. That a pod cannot be inspected is no
// error of the step. ErrRunning: Run or another Relist is at work.
func (p *PLEG) Relist(ctx context.Context) error {
	if err := p.enter(stepping); err != nil {
		return err
	}
	defer p.exit(idle)
	err := p.list(ctx)
	p.inspectPending(ctx)
	return cmp.Or(err, ctx.Err())
}

// list makes one global listing and takes it in. After an error nothing has
// changed but the health.
func (p *PLEG) list(ctx context.Context) error {
	number, began, prev := p.beginList()
	call, cancel := p.executor.WithDeadline(ctx, began.Add(p.cfg.ListTimeout))
	pods, err := p.cfg.Runtime.ListPods(call)
	cancel()
	if interrupted(ctx, err) {
		p.endList(nil)
		return err
	}
	if err != nil {
		err = fmt.Errorf("pleg: list: %w", err)
		p.endList(err)
		p.relisted(Relisting{Number: number, Took: p.executor.Now().Sub(began), Err: err})
		return err
	}
	doubtful := p.apply(number, began, prev, pods)
	p.relisted(Relisting{Number: number, Took: p.executor.Now().Sub(began), Pods: len(pods), Mismatched: doubtful})
	return nil
}

// beginList numbers the listing and notes when it began.
func (p *PLEG) beginList() (number uint64, began time.Time, prev []runtime.Pod) {
	now := p.executor.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.rhythm.beginList(now)
	p.mu.table.strangers.list = time.Time{} // This one shows them.
	return p.mu.table.begin(), now, p.mu.table.list
}

// apply takes a listing in. The comparison with the one before is done without
// the lock: nobody else writes listings.
func (p *PLEG) apply(number uint64, began time.Time, prev, next []runtime.Pod) (doubtful int) {
	var aligned bool
	p.changed, aligned = diff.Lists(p.changed[:0], prev, next)
	now := p.executor.Now()
	p.mu.Lock()
	p.mu.table.applyList(number, next, p.changed, aligned)
	doubtful = len(p.mu.table.unsure)
	recovered := p.mu.rhythm.listed(began, now, number)
	p.mu.Unlock()
	if recovered {
		p.cfg.Log.Info("the runtime lists its pods again")
	}
	return doubtful
}

// endList notes a listing that has failed; nil is one that we cut short.
func (p *PLEG) endList(err error) {
	now := p.executor.Now()
	p.mu.Lock()
	onset := p.mu.rhythm.listFailed(now, err)
	p.mu.Unlock()
	if onset {
		p.cfg.Log.Warn("the runtime cannot list its pods; nothing is concluded", "err", err)
	}
}

func (p *PLEG) relisted(r Relisting) {
	p.cfg.Hooks.Relisted(r)
}

// interrupted reports that a call ended because we end, which says nothing
// about the runtime.
func interrupted(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, executor.ErrCrashed))
}

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
		return diff.Empty(r.status)
	case r.doubled || r.status == nil:
		return false
	}
	t.scratch[0], t.scratch[1] = diff.ListedItems(t.scratch[0][:0], &t.list[r.index]), diff.Items(t.scratch[1][:0], r.status)
	return slices.Equal(t.scratch[0], t.scratch[1])
}
