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

// inspectPending inspects every pod with a pending inspection and returns when that is done.
func (p *PLEG) inspectPending(ctx context.Context) {
	p.mu.Lock()
	n := len(p.mu.table.queue) + len(p.mu.table.suspects)
	p.mu.Unlock()
	executor.Each(p.executor, p.cfg.MaxInspections, min(n, p.cfg.MaxInspections), func(int) {
		if r, number := p.startNextInspection(); r != nil {
			p.inspectUntilEmpty(ctx, r, number)
		}
	})
}

// inspectUntilEmpty inspects one pod after another until no inspection is pending.
func (p *PLEG) inspectUntilEmpty(ctx context.Context, r *record, number uint64) {
	for r != nil && p.inspectPod(ctx, r, number) {
		r, number = p.startNextInspection()
	}
}

// startNextInspection takes the next inspection from the queue.
func (p *PLEG) startNextInspection() (*record, uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.table.startNextInspection()
}

// inspectPod reads the status of one pod and stores it. It returns false, without a result, if the
// PLEG is stopping.
func (p *PLEG) inspectPod(ctx context.Context, r *record, number uint64) (completed bool) {
	began := p.executor.Now()
	call, cancel := p.executor.WithDeadline(ctx, began.Add(p.cfg.InspectTimeout))
	status, err := p.cfg.Runtime.PodStatus(call, r.uid)
	hung := errors.Is(call.Err(), context.DeadlineExceeded)
	cancel()
	if isInterrupted(ctx, err) {
		p.mu.Lock()
		p.mu.table.cancelInspection(r)
		p.mu.Unlock()
		return false
	}
	if err == nil {
		err = checkStatus(status, r.uid)
	}
	if err != nil {
		err = fmt.Errorf("pleg: inspect: %w", err)
	}
	p.finishInspection(r, number, status, err, hung && err != nil, began)
	return true
}

// checkStatus returns an error if the runtime's answer is nil or of another pod (F62).
func checkStatus(status *runtime.PodStatus, uid types.UID) error {
	switch {
	case status == nil:
		return errors.New("the runtime returned neither a status nor an error")
	case status.UID != uid:
		return fmt.Errorf("the runtime was asked about pod %q and answered about %q", uid, status.UID)
	}
	return nil
}

// finishInspection stores the result of an inspection. It releases the waiting readers first, then
// notifies the subscriptions, the log and the hook.
func (p *PLEG) finishInspection(r *record, number uint64, status *runtime.PodStatus, err error, timedOut bool, began time.Time) {
	now := p.executor.Now()
	p.mu.Lock()
	out := p.mu.table.storeInspection(r, number, status, err, timedOut, now)
	subs := p.mu.subs
	p.mu.Unlock()
	for _, w := range out.waiters {
		w.latch.Open()
	}
	if out.events != 0 {
		for _, s := range subs {
			s.dirty.Add(r.uid, out.events)
		}
	}
	if out.firstFailure {
		p.cfg.Log.Warn("a pod cannot be inspected", "uid", r.uid, "err", err)
	}
	for _, id := range out.revived {
		p.cfg.Log.Warn("ignoring that the runtime reports an exited container as not exited", "uid", r.uid, "container", id)
	}
	p.cfg.Hooks.Inspected(Inspection{UID: r.uid, Number: number, Took: now.Sub(began), Events: out.events, Err: err})
}
