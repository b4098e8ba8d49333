package pleg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// inspectPending inspects every pod that has an inspection pending and returns when
// that is done.
func (p *PLEG) inspectPending(ctx context.Context) {
	p.mu.Lock()
	n := len(p.mu.table.queue) + len(p.mu.table.suspects)
	p.mu.Unlock()
	executor.Each(p.executor, p.cfg.MaxInspections, min(n, p.cfg.MaxInspections), func(int) {
		if r, number := p.take(); r != nil {
			p.work(ctx, r, number)
		}
	})
}

// work inspects one pod after the other until none is left for it.
func (p *PLEG) work(ctx context.Context, r *record, number uint64) {
	for r != nil && p.inspect(ctx, r, number) {
		r, number = p.take()
	}
}

// take takes the next inspection out of the queue.
func (p *PLEG) take() (*record, uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.table.take()
}

// inspect reads the status of one pod and stores it. It reports false if we
// are ending.
func (p *PLEG) inspect(ctx context.Context, r *record, number uint64) bool {
	began := p.executor.Now()
	call, cancel := p.executor.WithDeadline(ctx, began.Add(p.cfg.InspectTimeout))
	status, err := p.cfg.Runtime.PodStatus(call, r.uid)
	hung := errors.Is(call.Err(), context.DeadlineExceeded)
	cancel()
	if interrupted(ctx, err) {
		p.mu.Lock()
		p.mu.table.abandon(r)
		p.mu.Unlock()
		return false
	}
	if err == nil {
		err = valid(status, r.uid)
	}
	if err != nil {
		err = fmt.Errorf("pleg: inspect: %w", err)
	}
	p.finish(r, number, status, err, hung && err != nil, began)
	return true
}

// valid refuses an answer that is none (F62).
func valid(status *runtime.PodStatus, uid types.UID) error {
	switch {
	case status == nil:
		return errors.New("the runtime returned neither a status nor an error")
	case status.UID != uid:
		return fmt.Errorf("the runtime was asked about pod %q and answered about %q", uid, status.UID)
	}
	return nil
}

// finish stores the answer of an inspection and tells everybody whom it
// concerns: the readers first, as they wait.
func (p *PLEG) finish(r *record, number uint64, status *runtime.PodStatus, err error, hung bool, began time.Time) {
	now := p.executor.Now()
	p.mu.Lock()
	out := p.mu.table.finish(r, number, status, err, hung, now)
	subs := p.mu.subs
	p.mu.Unlock()
	for _, w := range out.awake {
		w.latch.Open()
	}
	if out.events != 0 {
		for _, s := range subs {
			s.dirty.Add(r.uid, out.events)
		}
	}
	if out.onset {
		p.cfg.Log.Warn("a pod cannot be inspected", "uid", r.uid, "err", err)
	}
	for _, id := range out.back {
		p.cfg.Log.Warn("an exited container is said to be alive; ignored", "uid", r.uid, "container", id)
	}
	p.cfg.Hooks.Inspected(Inspection{UID: r.uid, Number: number, Took: now.Sub(began), Events: out.events, Err: err})
}
