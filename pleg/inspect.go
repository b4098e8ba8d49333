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

// inspectPending inspects every pod with a requested inspection, up to MaxInspections at a time. It returns
// when no inspection is pending, or when the PLEG is stopping.
func (p *PLEG) inspectPending(ctx context.Context) {
	p.mu.Lock()
	n := len(p.mu.table.queue) + len(p.mu.table.suspects)
	p.mu.Unlock()
	executor.Each(p.executor, p.cfg.MaxInspections, min(n, p.cfg.MaxInspections), func(int) {
		if r, number := p.startNextInspection(); r != nil {
			p.inspectPodThenQueue(ctx, r, number)
		}
	})
}

// inspectPodThenQueue inspects pod r and then one pod after another from the queue. It returns when it may
// start no further inspection, or when the PLEG is stopping. number is the sequence number of the inspection of
// r.
func (p *PLEG) inspectPodThenQueue(ctx context.Context, r *record, number uint64) {
	for r != nil && p.inspectPod(ctx, r, number) {
		r, number = p.startNextInspection()
	}
}

// startNextInspection removes the next pod from the queue and counts its inspection as running. It returns the
// pod and the inspection's sequence number, or nil if the queue is empty or the concurrency limit is reached.
// The caller must call the runtime.
func (p *PLEG) startNextInspection() (r *record, number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.table.startNextInspection()
}

// inspectPod reads the status of one pod from the runtime and stores the status or the error. If the PLEG is
// stopping, it stores nothing, requests the inspection again and returns false.
func (p *PLEG) inspectPod(ctx context.Context, r *record, number uint64) (completed bool) {
	began := p.executor.Now()
	call, cancel := p.executor.WithDeadline(ctx, began.Add(p.cfg.InspectTimeout))
	status, err := p.cfg.Runtime.PodStatus(call, r.uid)
	hung := errors.Is(call.Err(), context.DeadlineExceeded)
	cancel()
	if isInterrupted(ctx, err) {
		p.mu.Lock()
		p.mu.table.requeueCancelledInspection(r)
		p.mu.Unlock()
		return false
	}
	if err == nil {
		err = checkStatusBelongsToPod(status, r.uid)
	}
	if err != nil {
		err = fmt.Errorf("pleg: inspect: %w", err)
	}
	p.finishInspection(r, number, status, err, hung && err != nil, began)
	return true
}

// checkStatusBelongsToPod returns an error if the runtime returned no status for a pod, or the status of a pod
// with another UID (F62).
func checkStatusBelongsToPod(status *runtime.PodStatus, uid types.UID) error {
	switch {
	case status == nil:
		return errors.New("the runtime returned neither a status nor an error")
	case status.UID != uid:
		return fmt.Errorf("the runtime was asked about pod %q and answered about %q", uid, status.UID)
	}
	return nil
}

// finishInspection stores the result of an inspection. It first releases the readers that waited for it, then
// adds the pod's events to every subscription, logs the first failure and contradictory container states, and
// calls Hooks.Inspected.
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
