package pleg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg/internal/diff"
	"github.com/podkeel/podkeel/runtime"
)

// Relist implements Generator.
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
	p.relisted(Relisting{Number: number, Took: p.executor.Now().Sub(began), Pods: len(pods), Doubtful: doubtful})
	return nil
}

// beginList numbers the listing and notes when it began.
func (p *PLEG) beginList() (number uint64, began time.Time, prev []runtime.Pod) {
	now := p.executor.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.rhythm.beginList(now)
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
	if p.cfg.Hooks.Relisted != nil {
		p.cfg.Hooks.Relisted(r)
	}
}

// interrupted reports that a call ended because we end, which says nothing
// about the runtime.
func interrupted(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, executor.ErrCrashed))
}
